/** The lease under which memories are consolidated. */
export const CONSOLIDATION_LEASE = 'consolidation';

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

/** What a notice is about: something that happened to memories, or to the API keys. */
export type NoticeTopic = 'events' | 'keys';

/** The longest text of a notice, in bytes of UTF-8. */
export const NOTICE_BYTES = 7000;

/** Hears the notices of one topic. */
export interface NoticeListener {
  heard(text: string): void;
  /** Some may have been told that were not heard. */
  missed(): void;
}

/**
 * What the processes that share a database tell each other beside what is kept in it. A notice is heard by the others
 * that hear at that moment, in the order in which it was told, and by nobody later: it is for what may be missed.
 */
export interface Notices {
  /** Tells the others, behind the caller's back. A text is at most `NOTICE_BYTES` long. */
  tell(topic: NoticeTopic, text: string): void;
  /**
   * Hears what others tell, until the database is closed; a topic has one listener at a time. Resolves when it hears, or
   * cannot for now, which the listener is told of later as having missed some.
   */
  hear(topic: NoticeTopic, listener: NoticeListener): Promise<void>;
}
