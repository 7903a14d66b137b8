import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { MemoryError } from '@memoryd/contract/errors';
import type { KeptRecord } from '../../ports/storage-kept.ts';
import type { OwnerFilter } from '../../ports/storage-owner.ts';
import { toLine } from '../kept-lines.ts';
import { keptRecords } from '../sql/kept-records.ts';
import type { Connection } from './connection.ts';
import { snapshot } from './file-queries.ts';
import { openAsItIs } from './open-connection.ts';

/**
 * What is to be copied from a database file into another, which exists and is empty: all of it, as a database, or what
 * one namespace keeps of some users and agents, a JSON value a line.
 */
export interface CopyTask {
  from: string;
  to: string;
  kept?: { namespace: string; of: OwnerFilter };
}

/** A copy that is on disk. */
export interface CopiedFacts {
  sizeBytes: number;
  /** SHA-256 of its bytes, in base64. */
  sha256: string;
  /** Lines of an export; 0 of a backup. */
  lines: number;
}

/** Makes a copy from one snapshot of the database. UNAVAILABLE where the disk has no room for it. */
export async function copy({ from, to, kept }: CopyTask): Promise<CopiedFacts> {
  const connection = openAsItIs(from);
  try {
    const lines = kept ? await copyKept(connection, kept, to) : copyDatabase(connection, to);
    return { lines, ...sealed(to) };
  } catch (error) {
    throw isOutOfRoom(error) ? new MemoryError('UNAVAILABLE', 'the disk has no room for a copy') : error;
  } finally {
    connection.close();
  }
}

function copyDatabase(connection: Connection, to: string): number {
  connection.prepare('VACUUM INTO ?').run(to);
  return 0;
}

/** About how many characters are written at a time. */
const WRITTEN_AT_ONCE = 1024 * 1024;

async function copyKept(
  connection: Connection,
  { namespace, of }: NonNullable<CopyTask['kept']>,
  to: string,
): Promise<number> {
  const file = openSync(to, 'r+');
  try {
    return await snapshot(connection, (queries) => writeLines(file, keptRecords(queries, namespace, of)));
  } finally {
    closeSync(file);
  }
}

async function writeLines(file: number, records: AsyncIterable<KeptRecord>): Promise<number> {
  let lines = 0;
  let waiting = '';
  for await (const record of records) {
    lines++;
    waiting += `${toLine(record)}\n`;
    if (waiting.length < WRITTEN_AT_ONCE) continue;
    writeWhole(file, Buffer.from(waiting));
    waiting = '';
  }
  writeWhole(file, Buffer.from(waiting));
  return lines;
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Brings a file to the disk, and tells what it holds. */
function sealed(path: string): { sizeBytes: number; sha256: string } {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
    const digest = createHash('sha256');
    const buffer = Buffer.alloc(WRITTEN_AT_ONCE);
    let sizeBytes = 0;
    for (let read = -1; read !== 0; sizeBytes += read) {
      read = readSync(file, buffer);
      digest.update(buffer.subarray(0, read));
    }
    return { sizeBytes, sha256: digest.digest('base64') };
  } finally {
    closeSync(file);
  }
}

/** Codes of a disk without room, and of a file that may grow no further; SQLite tells some of them as a failed write. */
const OUT_OF_ROOM = /^(SQLITE_FULL|SQLITE_IOERR_WRITE|ENOSPC|EDQUOT|EFBIG)$/;

function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && OUT_OF_ROOM.test(String((error as NodeJS.ErrnoException).code));
}
