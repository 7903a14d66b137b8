import { statSync } from 'node:fs';
import { DamagedDatabase } from '../damage.ts';
import type { Connection } from './connection.ts';
import { logBytes } from './file.ts';

/** Times that it is looked, since another process may grow or shrink the file meanwhile. */
const LOOKS = 3;

/** Bytes of the log before its frames, and of each frame before its page (sqlite.org/fileformat2.html, section 4.1). */
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * Throws DamagedDatabase for a file that has lost its end. SQLite looks for that only where there is no log, which may hold
 * the last pages; but no more of them than it has frames.
 */
export function assertWhole(connection: Connection, path: string): void {
  let missing = 0;
  for (let look = 0; look < LOOKS; look++) {
    missing = missingPages(connection, path);
    if (missing <= 0) return;
  }
  throw new DamagedDatabase(`${missing} of its pages are missing`);
}

// In this order: what leaves the log stands in the file before.
function missingPages(connection: Connection, path: string): number {
  const pages = connection.pragma('page_count', { simple: true }) as number;
  const pageBytes = connection.pragma('page_size', { simple: true }) as number;
  const frames = Math.ceil((logBytes(path) - LOG_HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes));
  return pages - Math.max(0, frames) - Math.floor(statSync(path).size / pageBytes);
}
