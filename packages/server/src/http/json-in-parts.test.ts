import { describe, expect, it } from 'vitest';
import { toJsonInParts } from './json-in-parts.ts';

describe('toJsonInParts', () => {
  it.each([0, 1, 1000, 1001, 2500])('returns the same JSON as JSON.stringify for %i items', async (count) => {
    const items = Array.from({ length: count }, (_, i) => ({ id: i, text: `"é ${i}` }));
    const body = await toJsonInParts({ state: 'ready' }, 'points', items);
    expect(body.toString()).toBe(JSON.stringify({ state: 'ready', points: items }));
  });

  it('lets other work run between parts', async () => {
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 100) setImmediate(count);
    };
    setImmediate(count);
    await toJsonInParts(
      {},
      'points',
      Array.from({ length: 3000 }, (_, id) => ({ id })),
    );
    expect(turns).toBeGreaterThanOrEqual(2);
  });
});
