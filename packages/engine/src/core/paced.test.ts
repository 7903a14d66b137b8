import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { paced } from './paced.ts';

describe('a part of work that nobody waits for', () => {
  it('is followed by a pause in which others have their turn, and then answers', async () => {
    let othersHadTurn = false;
    const answer = await paced(async () => {
      await delay(20);
      setTimeout(() => {
        othersHadTurn = true;
      }, 0);
      return 'done';
    });
    expect(answer).toBe('done');
    expect(othersHadTurn).toBe(true);
  });

  it('tells its failure', async () => {
    await expect(paced(() => Promise.reject(new Error('the disk is full')))).rejects.toThrow('the disk is full');
  });
});
