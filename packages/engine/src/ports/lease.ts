/** The lease under which memories are consolidated. */
export const SLEEP_LEASE = 'consolidation';

/**
 * One holder at a time over all processes that share a database. A lease ends by itself when its holder stops
 * renewing it, so a killed process blocks nobody for longer than its time to live. A holder that was only slow may then
 * still write: each of its writes carries the fence that it was given, and is refused once another has taken the lease.
 */
export interface Lease {
  /**
   * Takes or renews the lease for `holder` until `now + ttlMs`; answers its fence, a whole number that grows whenever
   * another holder takes the lease, or null when another has it.
   */
  acquire(name: string, holder: string, now: number, ttlMs: number): Promise<number | null>;
  /** Gives the lease up, if `holder` has it. */
  release(name: string, holder: string): Promise<void>;
}
