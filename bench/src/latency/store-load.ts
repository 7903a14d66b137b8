import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop } from '../closed-loop.ts';
import type { HttpClient } from '../http-client.ts';
import type { Progress } from '../progress.ts';
import type { Dialogue } from './dialogue.ts';
import { type Figures, percentilesMs, rounded } from './figures.ts';

/** Stores the first `count` turns from so many clients, each of which waits for its answer. */
export async function measureStore(
  client: HttpClient,
  dialogue: Dialogue,
  { count, clients, progress }: { count: number; clients: number; progress: Progress },
): Promise<Figures> {
  const durationsMs = new Float64Array(count);
  const startMs = performance.now();
  await closedLoop(count, clients, async (index) => {
    const sentAtMs = performance.now();
    await storeTurn(client, dialogue, index);
    durationsMs[index] = performance.now() - sentAtMs;
    progress.advance();
  });
  const seconds = (performance.now() - startMs) / 1000;
  return { clients, acknowledged_per_s: rounded(count / seconds), ...percentilesMs(durationsMs, [50, 99]) };
}

export interface WriterLoad {
  /** Index of the first turn to store. */
  from: number;
  /** Stores due each second. */
  perSecond: number;
}

const mostUnderWay = 64;

/**
 * Stores turns at a constant rate, whether or not earlier ones are answered, for as long as `use` takes: an open
 * loop. Durations count from when a store was due, so that a stall shows in full. At most 64 stores are under way;
 * what is due meanwhile waits.
 *
 * @returns what `use` answered and what was measured of the stores
 * @throws when `use` or a store fails
 */
export async function besideWriter(
  client: HttpClient,
  dialogue: Dialogue,
  load: WriterLoad,
  use: () => Promise<Figures>,
): Promise<Figures> {
  const controller = new AbortController();
  const writing = writeUntil(controller.signal, client, dialogue, load);
  const [used, written] = await Promise.allSettled([use().finally(() => controller.abort()), writing]);
  if (used.status === 'rejected') throw used.reason;
  if (written.status === 'rejected') throw written.reason;
  return { ...used.value, ...written.value };
}

async function writeUntil(
  end: AbortSignal,
  client: HttpClient,
  dialogue: Dialogue,
  { from, perSecond }: WriterLoad,
): Promise<Figures> {
  const durationsMs: number[] = [];
  const underWay = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const startMs = performance.now();
  for (let sent = 0; !end.aborted && failures.length === 0; sent++) {
    const dueMs = startMs + (sent * 1000) / perSecond;
    await sleep(Math.max(0, dueMs - performance.now()));
    if (underWay.size >= mostUnderWay) await Promise.race(underWay);
    const store = storeTurn(client, dialogue, from + sent)
      .then(() => void durationsMs.push(performance.now() - dueMs))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => underWay.delete(store));
    underWay.add(store);
  }
  const seconds = (performance.now() - startMs) / 1000;
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
  return {
    stores: durationsMs.length,
    stores_per_s: rounded(durationsMs.length / seconds),
    ...prefixed('store', percentilesMs(durationsMs, [50, 99])),
  };
}

async function storeTurn(client: HttpClient, dialogue: Dialogue, index: number): Promise<void> {
  const { content, sessionId } = dialogue.turn(index);
  await client.store({ content, session_id: sessionId });
}

function prefixed(prefix: string, figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${prefix}_${name}`, figure]));
}
