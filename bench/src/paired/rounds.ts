import type { OpenMemory } from '@memoryd/engine';
import { assertAllStored } from '../batches.ts';
import type { Dialogue } from '../latency/dialogue.ts';
import type { Pair } from './ratios.ts';
import type { Side } from './side.ts';

interface Plan {
  dialogue: Dialogue;
  count: number;
  rounds: number;
}

const BATCH_SIZE = 500;

/**
 * Index of the first turn whose text is used as a query. No query equals a stored text, because the index is far beyond
 * the stored turns.
 */
const FIRST_QUESTION = 50_000_000;

interface Step {
  calls: number;
  clients: number;
  /** `stored`: each call stores the next turns. `asked`: each call uses the next turn as a query. */
  turnKind: 'stored' | 'asked';
  /** Turns per call; 1 if omitted. */
  turnsPerCall?: number;
  call(memory: OpenMemory, dialogue: Dialogue, index: number): Promise<unknown>;
}

const store: Step['call'] = (memory, dialogue, index) => memory.store(storeRequest(dialogue, index));
const recall: Step['call'] = (memory, dialogue, index) =>
  memory.recall({ query: dialogue.turn(index).content.split(': ').slice(1).join(': ') });
const storeBatch: Step['call'] = async (memory, dialogue, index) => {
  const requests = Array.from({ length: BATCH_SIZE }, (_, i) => storeRequest(dialogue, index + i));
  assertAllStored(await memory.storeBatch(requests));
};

/** Steps of one round, by name. */
const STEPS: Record<string, Step> & { recall: Step } = {
  recall: { calls: 40, clients: 1, turnKind: 'asked', call: recall },
  'recall of 16 clients': { calls: 160, clients: 16, turnKind: 'asked', call: recall },
  store: { calls: 20, clients: 1, turnKind: 'stored', call: store },
  'store of 32 clients': { calls: 320, clients: 32, turnKind: 'stored', call: store },
  batch: { calls: 2, clients: 1, turnKind: 'stored', turnsPerCall: BATCH_SIZE, call: storeBatch },
};

/** Number of recalls on each engine before the first round, because V8 is slower until frequent code is optimised. */
const WARM_UP_RECALLS = 500;

/**
 * Fills both engines with the same memories, then runs the same calls on both engines in each round. The engines take
 * turns in running first. Returns times in ms by step. For recall by a single client, these are the times of the calls;
 * for other steps, the mean times per call in each round.
 */
export async function measureRounds(
  sides: readonly [Side, Side],
  plan: Plan,
  signal: AbortSignal,
): Promise<Record<string, Pair>> {
  const { dialogue, rounds } = plan;
  const next = { stored: await fill(sides, plan, signal), asked: FIRST_QUESTION };
  for (const { memory } of sides)
    await runStep({ ...STEPS.recall, calls: WARM_UP_RECALLS }, memory, dialogue, next.asked);
  next.asked += WARM_UP_RECALLS;
  const measured = new Map<string, Pair>(Object.keys(STEPS).map((name) => [name, { old: [], new: [] }]));
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const [name, step] of Object.entries(STEPS)) {
      signal.throwIfAborted();
      const first = next[step.turnKind];
      for (const side of order) {
        const times = await runStep(step, side.memory, dialogue, first);
        measured.get(name)?.[side.name].push(...times);
      }
      next[step.turnKind] += step.calls * (step.turnsPerCall ?? 1);
    }
    // Waits, because background embedding would slow the next round.
    for (const { memory } of sides) await waitForEmbeddings(memory, signal);
  }
  return Object.fromEntries(measured);
}

async function fill(sides: readonly Side[], { dialogue, count }: Plan, signal: AbortSignal): Promise<number> {
  let stored = 0;
  for (; stored < count; stored += BATCH_SIZE) {
    signal.throwIfAborted();
    for (const { memory } of sides) await storeBatch(memory, dialogue, stored);
  }
  for (const { memory } of sides) await waitForEmbeddings(memory, signal);
  return stored;
}

async function waitForEmbeddings(memory: OpenMemory, signal: AbortSignal): Promise<void> {
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
  const startMs = performance.now();
  const client = async () => {
    for (let index = next; index < first + step.calls * (step.turnsPerCall ?? 1); index = next) {
      next += step.turnsPerCall ?? 1;
      const at = performance.now();
      await step.call(memory, dialogue, index);
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: step.clients }, client));
  return step.clients === 1 && step.turnKind === 'asked' ? times : [(performance.now() - startMs) / step.calls];
}

function storeRequest(dialogue: Dialogue, index: number) {
  const { content, sessionId } = dialogue.turn(index);
  return { content, session_id: sessionId };
}
