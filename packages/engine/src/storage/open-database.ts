import type { KeyStore } from '../ports/key-store.ts';
import type { Lease } from '../ports/lease.ts';
import type { Notices } from '../ports/notices.ts';
import type { Storage } from '../ports/storage.ts';

/** What an open database serves. Closing the storage closes all of it. */
export interface OpenDatabase {
  storage: Storage;
  lease: Lease;
  keys: KeyStore;
  /** Absent where processes tell each other nothing. */
  notices?: Notices;
}
