import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AnswerRequest, QueryVector } from '../../ports/storage-search.ts';
import { Answerer } from './answerer.ts';

const request: AnswerRequest = {
  namespace: 'default',
  text: 'a question',
  filter: {},
  now: 0,
  poolSize: 10,
  tailSize: 0,
  ranking: { limit: 5 },
  maxBytes: 1000,
};
const made: QueryVector = { modelId: 'model', values: new Float32Array(2) };

/** What answers recalls, and the calls that have come to its thread, in order. */
function answererOf({ fails = false } = {}) {
  const calls: { verb: string; turn: number }[] = [];
  const answerer = new Answerer({
    call: async <T>(verb: string, argument: unknown) => {
      calls.push({ verb, turn: (argument as { turn: number }).turn });
      if (fails) throw new Error(`${verb} fails`);
      return { answers: [], truncated: false } as T;
    },
    stop: async () => {},
  });
  const answer = (asked: AnswerRequest) => answerer.answer(asked);
  return {
    answer,
    between: () => answerer.between(),
    verbs: () => calls.map(({ verb }) => verb),
    turns: () => calls.map(({ turn }) => turn),
  };
}

describe('a recall whose vector is being made', () => {
  it('has its words looked for meanwhile', async () => {
    const { answer, verbs, turns } = answererOf();
    let make = (_: QueryVector) => {};
    const vector = new Promise<QueryVector>((resolve) => {
      make = resolve;
    });
    const waiting = answer({ ...request, vector });
    expect(verbs()).toEqual(['lookAhead']);
    make(made);
    await waiting;
    expect(verbs()).toEqual(['lookAhead', 'answer']);
    expect(turns()[0]).toBe(turns()[1]);
  });

  it('is one call beside others, and looks ahead again when it is alone', async () => {
    const { answer, verbs, turns } = answererOf();
    const later = () => answer({ ...request, vector: Promise.resolve(made) });
    await Promise.all([later(), later(), later()]);
    expect(verbs()).toEqual(['lookAhead', 'answer', 'answer', 'answer']);
    expect(new Set(turns()).size).toBe(3);
    await later();
    expect(verbs().slice(4)).toEqual(['lookAhead', 'answer']);
  });

  it('leaves the next one alone when its vector cannot be made', async () => {
    const { answer, verbs } = answererOf();
    await expect(answer({ ...request, vector: Promise.reject(new Error('no model')) })).rejects.toThrow('no model');
    await answer({ ...request, vector: Promise.resolve(made) });
    expect(verbs()).toEqual(['lookAhead', 'lookAhead', 'answer']);
  });

  it('tells of a failure once', async () => {
    const { answer } = answererOf({ fails: true });
    await expect(answer({ ...request, vector: Promise.resolve(made) })).rejects.toThrow('answer fails');
  });
});

describe('a recall', () => {
  it.each([
    ['whose vector is there', made],
    ['by words alone', undefined],
  ])('%s is one call', async (_, vector) => {
    const { answer, verbs } = answererOf();
    await answer({ ...request, vector });
    expect(verbs()).toEqual(['answer']);
  });
});

describe('other work of the thread', () => {
  it('begins at once where no recall is under way', async () => {
    const { answer, between } = answererOf();
    const first = () => Promise.race([between().then(() => 'it'), setImmediate('what comes later')]);
    expect(await first()).toBe('it');
    await answer(request);
    expect(await first()).toBe('it');
  });

  it('waits for the end of one that is', async () => {
    const { answer, between, verbs } = answererOf();
    let make = (_: QueryVector) => {};
    const vector = new Promise<QueryVector>((resolve) => {
      make = resolve;
    });
    const waiting = answer({ ...request, vector });
    const both = [between(), between()].map((one) => one.then(() => verbs().includes('answer')));
    make(made);
    await waiting;
    expect(await Promise.all(both)).toEqual([true, true]);
  });

  it('waits for none that takes too long, and for none that fails', async () => {
    const { answer, between } = answererOf();
    void answer({ ...request, vector: new Promise(() => {}) });
    await between();
    const failing = answer({ ...request, vector: Promise.reject(new Error('no model')) });
    await between();
    await expect(failing).rejects.toThrow('no model');
  });
});
