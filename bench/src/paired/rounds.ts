import type { OpenMemory } from '@memoryd/engine';
import type { Dialogue } from '../latency/dialogue.ts';
import type { Pair } from './ratios.ts';
import type { Side } from './side.ts';

interface Plan {
  dialogue: Dialogue;
  count: number;
  rounds: number;
}

const FILLED_AT_ONCE = 500;

/** Questions lie far behind what is stored, so that none is the text of a memory. */
const FIRST_QUESTION = 50_000_000;

interface Step {
  calls: number;
  clients: number;
  /** The turns of the dialogue that it takes: those to store, or those to ask about. */
  takes: 'stored' | 'asked';
  /** Turns that one call takes; one where absent. */
  each?: number;
  call(memory: OpenMemory, dialogue: Dialogue, index: number): Promise<unknown>;
}

const store: Step['call'] = (memory, dialogue, index) => memory.store(storeRequest(dialogue, index));
const recall: Step['call'] = (memory, dialogue, index) =>
  memory.recall({ query: dialogue.turn(index).content.split(': ').slice(1).join(': ') });
const storeBatch: Step['call'] = async (memory, dialogue, index) => {
  const { results } = await memory.storeBatch(
    Array.from({ length: FILLED_AT_ONCE }, (_, i) => storeRequest(dialogue, index + i)),
  );
  if (results.some((result) => 'error' in result)) throw new Error('a memory of a batch was refused');
};

/** What one round does. */
const STEPS: Record<string, Step> & { recall: Step } = {
  recall: { calls: 40, clients: 1, takes: 'asked', call: recall },
  'recall of 16 clients': { calls: 160, clients: 16, takes: 'asked', call: recall },
  store: { calls: 20, clients: 1, takes: 'stored', call: store },
  'store of 32 clients': { calls: 320, clients: 32, takes: 'stored', call: store },
  batch: { calls: 2, clients: 1, takes: 'stored', each: FILLED_AT_ONCE, call: storeBatch },
};

/** Recalls of each side before the first round: V8 is slower until it has optimised what runs often. */
const WARM_UP = 500;

/**
 * Fills both sides alike, then lets them do the same work in turn, the one that begins by turns too. Returns milliseconds:
 * of each recall of a single client; of other steps, the mean of a call in each round.
 */
export async function measureRounds(
  sides: readonly [Side, Side],
  plan: Plan,
  signal: AbortSignal,
): Promise<Record<string, Pair>> {
  const { dialogue, rounds } = plan;
  const next = { stored: await fill(sides, plan, signal), asked: FIRST_QUESTION };
  for (const { memory } of sides) await runStep({ ...STEPS.recall, calls: WARM_UP }, memory, dialogue, next.asked);
  next.asked += WARM_UP;
  const measured = new Map<string, Pair>(Object.keys(STEPS).map((name) => [name, { old: [], new: [] }]));
  for (let round = 0; round < rounds; round++) {
    const inTurn = round % 2 === 0 ? sides : [...sides].reverse();
    for (const [name, step] of Object.entries(STEPS)) {
      signal.throwIfAborted();
      const first = next[step.takes];
      for (const side of inTurn) {
        const times = await runStep(step, side.memory, dialogue, first);
        measured.get(name)?.[side.name].push(...times);
      }
      next[step.takes] += step.calls * (step.each ?? 1);
    }
    // Background embedding would otherwise fall into the next round.
    for (const { memory } of sides) await untilEmbedded(memory, signal);
  }
  return Object.fromEntries(measured);
}

async function fill(sides: readonly Side[], { dialogue, count }: Plan, signal: AbortSignal): Promise<number> {
  let stored = 0;
  for (; stored < count; stored += FILLED_AT_ONCE) {
    signal.throwIfAborted();
    for (const { memory } of sides) await storeBatch(memory, dialogue, stored);
  }
  for (const { memory } of sides) await untilEmbedded(memory, signal);
  return stored;
}

async function untilEmbedded(memory: OpenMemory, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { embedding } = await memory.stats();
    if (!embedding || embedding.embedded === embedding.total) return;
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function runStep(step: Step, memory: OpenMemory, dialogue: Dialogue, first: number): Promise<number[]> {
  const times: number[] = [];
  let next = first;
  const began = performance.now();
  const client = async () => {
    for (let index = next; index < first + step.calls * (step.each ?? 1); index = next) {
      next += step.each ?? 1;
      const at = performance.now();
      await step.call(memory, dialogue, index);
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: step.clients }, client));
  return step.clients === 1 && step.takes === 'asked' ? times : [(performance.now() - began) / step.calls];
}

function storeRequest(dialogue: Dialogue, index: number) {
  const { content, sessionId } = dialogue.turn(index);
  return { content, session_id: sessionId };
}
