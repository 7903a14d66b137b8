/** Name of the lease that a process must hold to consolidate memories. */
export const CONSOLIDATION_LEASE = 'consolidation';

/**
 * A lease with at most one holder among all processes that share a database. A lease expires when its holder stops
 * renewing it, so a killed process blocks others for at most the time to live. A slow holder may still write after its
 * lease has expired: each write carries the holder's fencing token (`fence`), and is refused once another holder has
 * acquired the lease.
 */
export interface Lease {
  /**
   * Acquires or renews the lease for `holder` until `now + ttlMs`. Returns the fencing token, an integer that increases
   * whenever another holder acquires the lease. Returns null while another holder has the lease.
   */
  acquire(name: string, holder: string, now: number, ttlMs: number): Promise<number | null>;
  /** Releases the lease if `holder` has it. */
  release(name: string, holder: string): Promise<void>;
}

/** Topic of a notice: changes of memories (`events`), of API keys (`keys`), or `ForgottenScopes` (`forgotten`). */
type NoticeTopic = 'events' | 'keys' | 'forgotten';

/** Maximum length of a notice, in bytes of UTF-8. The fields of the largest batch of memories usually fit. */
export const MAX_NOTICE_BYTES = 8 * 2 ** 20;

/** Receives the notices of one topic. */
export interface NoticeListener {
  onNotice(text: string): void;
  /** Called when notices may have been lost, for example because the connection was interrupted. */
  onGap(): void;
}

/**
 * Publish/subscribe between the processes that share a database, without persistence. A notice reaches the other
 * processes that are listening at that moment, in publishing order, and is never delivered later. Use notices only for
 * messages that may be lost.
 */
export interface Notices {
  /**
   * Publishes a notice to the other processes. Returns before the notice is sent. A text has at most `MAX_NOTICE_BYTES`
   * bytes.
   */
  publish(topic: NoticeTopic, text: string): void;
  /**
   * Subscribes to a topic until the database is closed. Each topic has one listener at a time. Resolves once
   * subscribed, or if subscribing is not possible at the moment; in the second case `onGap` is called later.
   */
  subscribe(topic: NoticeTopic, listener: NoticeListener): Promise<void>;
}
