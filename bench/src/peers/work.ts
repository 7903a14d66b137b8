import { performance } from 'node:perf_hooks';
import type { Progress } from '../progress.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import type { Peer, PeerContext, PeerKind, PeerMemory } from './peer.ts';

/** Runs `use` with a peer in an empty folder, and closes the peer afterwards. */
export function withPeer<T>(
  kind: PeerKind,
  context: Omit<PeerContext, 'folder'>,
  use: (peer: Peer) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder(async (folder) => {
    const peer = await kind.open({ ...context, folder });
    try {
      return await use(peer);
    } finally {
      await peer.close();
    }
  });
}

/** Time limit, abort signal and progress display for work with a peer. */
export interface Bounds {
  /** Time in seconds after which no further batch or question starts. */
  limitS: number;
  signal: AbortSignal;
  progress: Progress;
}

export interface FillResult {
  /** Number of stored memories; fewer than requested if the time limit was reached. */
  stored: number;
  seconds: number;
}

/** Stores memories in batches until the time limit. */
export async function fillPeer(
  peer: Peer,
  { batchSize }: PeerKind,
  memories: readonly PeerMemory[],
  bounds: Bounds,
): Promise<FillResult> {
  const elapsed = stopwatch();
  let stored = 0;
  while (stored < memories.length && elapsed() < bounds.limitS) {
    bounds.signal.throwIfAborted();
    const batch = memories.slice(stored, stored + batchSize);
    await peer.store(batch);
    stored += batch.length;
    bounds.progress.advance(batch.length);
  }
  return { stored, seconds: elapsed() };
}

export interface AskResult {
  /**
   * Contents of the results of each asked question, in order. Shorter than the list of questions if the time limit was
   * reached.
   */
  answers: string[][];
  durationsMs: number[];
}

/** Asks questions one by one until the time limit. */
export async function askPeer(peer: Peer, questions: readonly string[], k: number, bounds: Bounds): Promise<AskResult> {
  const elapsed = stopwatch();
  const result: AskResult = { answers: [], durationsMs: [] };
  for (const question of questions) {
    if (elapsed() >= bounds.limitS) break;
    bounds.signal.throwIfAborted();
    const sentAtMs = performance.now();
    result.answers.push(await peer.recall(question, k));
    result.durationsMs.push(performance.now() - sentAtMs);
    bounds.progress.advance();
  }
  return result;
}

function stopwatch(): () => number {
  const startMs = performance.now();
  return () => (performance.now() - startMs) / 1000;
}
