import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { MemoryError } from '@memoryd/contract/errors';

import { type ExportFilter, keptRecords, toRecordLine } from '@memoryd/core';
import type { Connection } from './connection.ts';
import { snapshot } from './connection.ts';
import { toQueries } from './dialect.ts';
import { openWithoutMigrating } from './open-connection.ts';

/**
 * Task to copy data of a database file into an existing empty file: the whole database, or the records of a namespace
 * and owner as one JSON record per line.
 */
export interface CopyTask {
  from: string;
  to: string;
  scope?: { namespace: string; of: ExportFilter };
}

/** Size, checksum and line count of a finished copy. */
export interface CopiedFacts {
  sizeBytes: number;
  /** SHA-256 of the bytes, in base64. */
  sha256: string;
  /** Number of lines of an export; 0 for a backup. */
  lines: number;
}

/** Creates a copy from one snapshot of the database. Throws UNAVAILABLE if the disk is full. */
export async function copy({ from, to, scope }: CopyTask): Promise<CopiedFacts> {
  const connection = openWithoutMigrating(from);
  try {
    const lines = scope ? await copyRecords(connection, scope, to) : copyDatabase(connection, to);
    return { lines, ...sync(to) };
  } catch (error) {
    throw isOutOfRoom(error)
      ? new MemoryError('UNAVAILABLE', 'the disk has no room for a copy; free some space')
      : error;
  } finally {
    connection.close();
  }
}

function copyDatabase(connection: Connection, to: string): number {
  connection.prepare('VACUUM INTO ?').run(to);
  return 0;
}

/** Approximate characters per write, and maximum bytes per read. */
const CHUNK_SIZE = 1024 * 1024;

async function copyRecords(
  connection: Connection,
  { namespace, of }: NonNullable<CopyTask['scope']>,
  to: string,
): Promise<number> {
  const file = openSync(to, 'r+');
  try {
    return await snapshot(connection, () => writeLines(file, keptRecords(toQueries(connection), namespace, of)));
  } finally {
    closeSync(file);
  }
}

async function writeLines(file: number, records: ReturnType<typeof keptRecords>): Promise<number> {
  let lines = 0;
  let buffered = '';
  for await (const record of records) {
    lines++;
    buffered += `${toRecordLine(record)}\n`;
    if (buffered.length < CHUNK_SIZE) continue;
    writeWhole(file, Buffer.from(buffered));
    buffered = '';
  }
  writeWhole(file, Buffer.from(buffered));
  return lines;
}

function writeWhole(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

/** Syncs a file to disk, and returns its size and checksum. */
function sync(path: string): { sizeBytes: number; sha256: string } {
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
    const digest = createHash('sha256');
    const buffer = Buffer.alloc(CHUNK_SIZE);
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

/**
 * Error codes of a full disk and of an exceeded file size limit or quota. SQLite reports some of these as a failed
 * write.
 */
const OUT_OF_ROOM = /^(SQLITE_FULL|SQLITE_IOERR_WRITE|ENOSPC|EDQUOT|EFBIG)$/;

function isOutOfRoom(error: unknown): boolean {
  return error instanceof Error && OUT_OF_ROOM.test(String((error as NodeJS.ErrnoException).code));
}
