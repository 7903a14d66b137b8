import { MemoryError } from '@memoryd/contract/errors';
import type { Connection } from './connection.ts';
import { openForReading } from './open-connection.ts';

/** A thread's connection that cannot write, opened when it is first asked for. */
export interface LazyConnection {
  /** UNAVAILABLE after `close`. */
  open(): Connection;
  close(): void;
}

// Opened at the first call rather than with the thread, so that a file that cannot be read is an answer and no crash.
export function lazyConnection(path: string, cacheMib: number): LazyConnection {
  let opened: Connection | undefined;
  let closed = false;
  return {
    open() {
      if (closed) throw new MemoryError('UNAVAILABLE', 'the database is closed');
      opened ??= openForReading(path, cacheMib);
      return opened;
    },
    close() {
      closed = true;
      opened?.close();
    },
  };
}
