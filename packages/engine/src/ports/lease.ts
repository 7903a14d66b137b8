/**
 * One holder at a time over all processes that share a database. A lease ends by itself when its holder stops
 * renewing it, so a killed process blocks nobody for longer than its time to live.
 */
export interface Lease {
  /** Takes or renews the lease for `holder`; answers whether `holder` has it until `now + ttlMs`. */
  acquire(name: string, holder: string, now: number, ttlMs: number): Promise<boolean>;
  /** Gives the lease up, if `holder` has it. */
  release(name: string, holder: string): Promise<void>;
}
