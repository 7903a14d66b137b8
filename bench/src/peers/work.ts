import { performance } from 'node:perf_hooks';
import type { Progress } from '../progress.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import type { Peer, PeerContext, PeerKind, PeerMemory } from './peer.ts';

/** Opens a peer with an empty folder, and closes it afterwards. */
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

/** What bounds a piece of work with a peer. */
export interface Bounds {
  /** No batch and no question is begun later than this. */
  limitS: number;
  signal: AbortSignal;
  progress: Progress;
}

export interface Filled {
  /** Fewer than were given when the time was up. */
  stored: number;
  seconds: number;
}

/** Stores memories batch by batch, within the limit. */
export async function fillPeer(
  peer: Peer,
  { batchSize }: PeerKind,
  memories: readonly PeerMemory[],
  bounds: Bounds,
): Promise<Filled> {
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

export interface Asked {
  /** What was found, by question; fewer than were given when the time was up. */
  answers: string[][];
  durationsMs: number[];
}

/** Asks one question after the other, within the limit. */
export async function askPeer(peer: Peer, questions: readonly string[], k: number, bounds: Bounds): Promise<Asked> {
  const elapsed = stopwatch();
  const asked: Asked = { answers: [], durationsMs: [] };
  for (const question of questions) {
    if (elapsed() >= bounds.limitS) break;
    bounds.signal.throwIfAborted();
    const sentAtMs = performance.now();
    asked.answers.push(await peer.recall(question, k));
    asked.durationsMs.push(performance.now() - sentAtMs);
    bounds.progress.advance();
  }
  return asked;
}

function stopwatch(): () => number {
  const startMs = performance.now();
  return () => (performance.now() - startMs) / 1000;
}
