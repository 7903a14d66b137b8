import { describe, expect, it } from 'vitest';
import { showProgress } from '../progress.ts';
import type { Peer, PeerMemory } from './peer.ts';
import { askPeer, fillPeer } from './work.ts';

/** A minimal peer that returns the newest memories first. */
function newestFirst(onStore: (memories: readonly PeerMemory[]) => void = () => {}): Peer {
  const contents: string[] = [];
  return {
    async store(memories) {
      onStore(memories);
      contents.unshift(...memories.map(({ content }) => content).reverse());
    },
    recall: async (_query, k) => contents.slice(0, k),
    close: async () => {},
  };
}

const kind = {
  name: 'newest',
  version: '1',
  use: '',
  batchSize: 4,
  usesSharedVectors: false,
  open: async () => newestFirst(),
};
const memories = Array.from({ length: 10 }, (_, index) => ({ content: `m${index}`, session: null, timestamp: null }));
const within = (limitS: number) => ({
  limitS,
  signal: new AbortController().signal,
  progress: showProgress('test', memories.length),
});

describe('fillPeer', () => {
  it('stores all memories in order, in batches as large as the peer allows', async () => {
    const batches: string[][] = [];
    const peer = newestFirst((batch) => batches.push(batch.map(({ content }) => content)));
    const { stored } = await fillPeer(peer, kind, memories, within(60));
    expect(stored).toBe(10);
    expect(batches).toEqual([
      ['m0', 'm1', 'm2', 'm3'],
      ['m4', 'm5', 'm6', 'm7'],
      ['m8', 'm9'],
    ]);
  });

  it('stops at the time limit and returns the number of stored memories', async () => {
    expect(await fillPeer(newestFirst(), kind, memories, within(0))).toMatchObject({ stored: 0 });
  });
});

describe('askPeer', () => {
  it('sends the queries in order and returns results and durations', async () => {
    const peer = newestFirst();
    await fillPeer(peer, kind, memories, within(60));
    const { answers, durationsMs } = await askPeer(peer, ['a', 'b'], 2, within(60));
    expect(answers).toEqual([
      ['m9', 'm8'],
      ['m9', 'm8'],
    ]);
    expect(durationsMs).toHaveLength(2);
  });

  it('stops sending queries at the time limit', async () => {
    expect(await askPeer(newestFirst(), ['a'], 2, within(0))).toEqual({ answers: [], durationsMs: [] });
  });

  it('rejects if the run is aborted', async () => {
    const bounds = { ...within(60), signal: AbortSignal.abort(new Error('interrupted')) };
    await expect(askPeer(newestFirst(), ['a'], 2, bounds)).rejects.toThrow('interrupted');
  });
});
