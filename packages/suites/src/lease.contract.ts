import { describe, expect, it } from 'vitest';
import { NOW, type TestedStorage } from './storage.fixture.ts';

/** Contract tests of the `Lease` port. */
export function leaseContract(tested: TestedStorage): void {
  describe('a lease', () => {
    const MINE = expect.any(Number);

    it('a lease has one holder at a time, and the holder can renew it', async () => {
      const { lease } = tested;
      expect(await lease.acquire('job', 'a', NOW, 1000)).toEqual(MINE);
      expect(await lease.acquire('job', 'b', NOW + 999, 1000)).toBeNull();
      expect(await lease.acquire('job', 'a', NOW + 500, 1000)).toEqual(MINE);
      expect(await lease.acquire('job', 'b', NOW + 1499, 1000)).toBeNull();
      expect(await lease.acquire('other job', 'b', NOW, 1000)).toEqual(MINE);
    });

    it('a lease can be acquired by another holder after it has expired or was released', async () => {
      const { lease } = tested;
      await lease.acquire('job', 'a', NOW, 1000);
      expect(await lease.acquire('job', 'b', NOW + 1000, 1000)).toEqual(MINE);
      await lease.release('job', 'a');
      expect(await lease.acquire('job', 'c', NOW + 1001, 1000)).toBeNull();
      await lease.release('job', 'b');
      expect(await lease.acquire('job', 'c', NOW + 1001, 1000)).toEqual(MINE);
    });

    it('a lease can be acquired by another holder after the clock was set far back', async () => {
      const { lease } = tested;
      await lease.acquire('job', 'a', NOW + 1e9, 1000);
      expect(await lease.acquire('job', 'b', NOW, 1000)).toEqual(MINE);
    });

    it('keeps its fencing token when it is renewed, and gets a higher token when it is acquired after expiry or release', async () => {
      const { lease } = tested;
      const first = (await lease.acquire('job', 'a', NOW, 1000)) as number;
      expect(await lease.acquire('job', 'a', NOW + 500, 1000)).toBe(first);
      const second = (await lease.acquire('job', 'b', NOW + 1500, 1000)) as number;
      expect(second).toBeGreaterThan(first);
      await lease.release('job', 'b');
      const third = (await lease.acquire('job', 'a', NOW + 1501, 1000)) as number;
      expect(third).toBeGreaterThan(second);
      await lease.release('job', 'a');
      expect(await lease.acquire('job', 'a', NOW + 1502, 1000)).toBeGreaterThan(third);
    });
  });
}
