import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AnswerRequest, QueryVector } from '../../ports/storage-search.ts';
import { Answerer } from './answerer.ts';
import { TAKEN_WITHIN_MS, VectorHandover } from './vector-handover.ts';

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
function answererOf({ fails = false, inTime = true } = {}) {
  const verbs: string[] = [];
  const answerer = new Answerer(
    {
      call: async <T>(verb: string) => {
        verbs.push(verb);
        if (fails) throw new Error(`${verb} fails`);
        return (verb === 'answer' || inTime ? { answers: [], truncated: false } : undefined) as T;
      },
      close: async () => {},
      stop: async () => {},
    },
    new VectorHandover(),
  );
  const answer = (asked: AnswerRequest) => answerer.answer(asked);
  return { answer, between: () => answerer.between(), verbs: () => verbs };
}

/** Asks until a thread is made to wait for a vector again: a machine that does much else may take a quick one for a slow one. */
async function aheadAtLast(ask: () => Promise<unknown>, since: () => string[]): Promise<void> {
  await expect.poll(() => ask().then(since)).toContain('answerAhead');
}

describe('a recall whose vector is being made', () => {
  it('is one call, of a thread that looks for its words meanwhile', async () => {
    const { answer, verbs } = answererOf();
    const waiting = answer({ ...request, vector: Promise.resolve(made) });
    expect(verbs()).toEqual(['answerAhead']);
    await waiting;
    expect(verbs()).toEqual(['answerAhead']);
  });

  it('is another, once it is made, where it has not been handed over in time', async () => {
    const { answer, verbs } = answererOf({ inTime: false });
    await answer({ ...request, vector: Promise.resolve(made) });
    expect(verbs()).toEqual(['answerAhead', 'answer']);
  });

  it('waits for it beside others, and lets the thread wait again when it is alone', async () => {
    const { answer, verbs } = answererOf();
    const later = () => answer({ ...request, vector: Promise.resolve(made) });
    await Promise.all([later(), later(), later()]);
    expect(verbs()).toEqual(['answerAhead', 'answer', 'answer']);
    await aheadAtLast(later, () => verbs().slice(3));
  });

  it('waits for it by itself as long as the model takes too long', async () => {
    const { answer, verbs } = answererOf({ inTime: false });
    // Much longer, since a machine that does much else may not look at it at once.
    const slowly = () => answer({ ...request, vector: setTimeout(TAKEN_WITHIN_MS + 200, made) });
    await slowly();
    await slowly();
    expect(verbs()).toEqual(['answerAhead', 'answer', 'answer']);
    const quickly = () => answer({ ...request, vector: Promise.resolve(made) });
    await quickly();
    expect(verbs().slice(3)).toEqual(['answer']);
    await aheadAtLast(quickly, () => verbs().slice(4));
  });

  it('leaves the next one alone when it cannot be made', async () => {
    const { answer, verbs } = answererOf({ inTime: false });
    await expect(answer({ ...request, vector: Promise.reject(new Error('no model')) })).rejects.toThrow('no model');
    expect(verbs()).toEqual(['answerAhead']);
    const next = () => answer({ ...request, vector: Promise.resolve(made) });
    await aheadAtLast(next, () => verbs().slice(1));
    expect(verbs().slice(-2)).toEqual(['answerAhead', 'answer']);
  });

  it('tells of a failure once', async () => {
    const { answer } = answererOf({ fails: true });
    await expect(answer({ ...request, vector: Promise.resolve(made) })).rejects.toThrow('answerAhead fails');
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
    const { answer, between, verbs } = answererOf({ inTime: false });
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
    const { answer, between } = answererOf({ inTime: false });
    void answer({ ...request, vector: new Promise(() => {}) });
    await between();
    const failing = answer({ ...request, vector: Promise.reject(new Error('no model')) });
    await between();
    await expect(failing).rejects.toThrow('no model');
  });
});
