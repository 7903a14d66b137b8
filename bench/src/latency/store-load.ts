import { performance } from 'node:perf_hooks';
import type { StoreRequest } from '@memoryd/contract';
import { splitIntoBatches } from '../batches.ts';
import { closedLoop } from '../closed-loop.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import type { Dialogue } from './dialogue.ts';
import { type Figures, percentilesMs, roundFigure } from './figures.ts';

/** A range of turns of a dialogue. */
export interface TurnRange {
  /** Index of the first turn. */
  from: number;
  count: number;
}

/** Measures stores from concurrent clients, each with one request in flight. */
export async function measureStore(
  client: HttpClient,
  dialogue: Dialogue,
  { from, count, clients, progress }: TurnRange & { clients: number; progress: Progress },
): Promise<Figures> {
  const durationsMs = new Float64Array(count);
  const startMs = performance.now();
  await closedLoop(count, clients, async (index) => {
    const sentAtMs = performance.now();
    await storeTurn(client, dialogue, from + index);
    durationsMs[index] = performance.now() - sentAtMs;
    progress.advance();
  });
  const seconds = (performance.now() - startMs) / 1000;
  return {
    clients,
    stores: count,
    stores_per_s: roundFigure(count / seconds),
    ...percentilesMs(durationsMs, [50, 99]),
  };
}

const BATCH_CLIENTS = 2;
const TURNS_PER_ROUND = 50_000;

/** Measures stores in batches of up to 500 from two clients. Returns undefined if the server has no batch route. */
export async function measureBatches(
  client: HttpClient,
  dialogue: Dialogue,
  { from, count, progress }: TurnRange & { progress: Progress },
): Promise<Figures | undefined> {
  const durationsMs: number[] = [];
  let seconds = 0;
  for (let stored = 0; stored < count; stored += TURNS_PER_ROUND) {
    const length = Math.min(TURNS_PER_ROUND, count - stored);
    const batches = splitIntoBatches(Array.from({ length }, (_, index) => getRequest(dialogue, from + stored + index)));
    let isTaken = true;
    const store = async (index: number): Promise<void> => {
      const batch = batches[index] ?? [];
      const sentAtMs = performance.now();
      isTaken = await client.storeBatch(batch);
      if (!isTaken) return;
      durationsMs.push(performance.now() - sentAtMs);
      progress.advance(batch.length);
    };
    const startMs = performance.now();
    await closedLoop(batches.length, BATCH_CLIENTS, store, () => !isTaken);
    if (!isTaken) return undefined;
    seconds += (performance.now() - startMs) / 1000;
  }
  return {
    clients: BATCH_CLIENTS,
    batches: durationsMs.length,
    stores: count,
    stores_per_s: roundFigure(count / seconds),
    ...percentilesMs(durationsMs, [50, 99]),
  };
}

export async function storeTurn(client: HttpClient, dialogue: Dialogue, index: number): Promise<void> {
  await client.store(getRequest(dialogue, index));
}

function getRequest(dialogue: Dialogue, index: number): StoreRequest {
  const { content, sessionId } = dialogue.turn(index);
  return { content, session_id: sessionId };
}
