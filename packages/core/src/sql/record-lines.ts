import type { FileHandle } from 'node:fs/promises';
import { getLines } from '@memoryd/contract';
import type { ExportRecord } from '../ports/storage-export.ts';
import { createTextsTooLongError } from '../record-size.ts';

/**
 * Serializes a record as one JSON line, without the line break at its end. Throws UNAVAILABLE if the line would exceed
 * the maximum length of a string.
 */
export function toRecordLine(record: ExportRecord): string {
  try {
    return JSON.stringify(record);
  } catch (error) {
    throw error instanceof RangeError && 'memory' in record ? createTextsTooLongError(record.memory.id) : error;
  }
}

const PIECE_BYTES = 256 * 1024;

/** An open file, to be read once. `close` closes the file and frees its disk space. */
interface OpenFile {
  file: FileHandle;
  close(): Promise<void>;
}

/** Yields the bytes from the current position. Closes the file at the end, or when iteration stops early. */
export async function* getPieces({ file, close }: OpenFile): AsyncIterable<Uint8Array> {
  try {
    for (let read = 1; read > 0; ) {
      const piece = await file.read(Buffer.allocUnsafe(PIECE_BYTES));
      read = piece.bytesRead;
      if (read > 0) yield piece.buffer.subarray(0, read);
    }
  } finally {
    await close();
  }
}

/** Yields the records of a file with one JSON record per line. */
export async function* getRecords(copy: OpenFile): AsyncIterable<ExportRecord> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const line of getLines(getPieces(copy), Number.POSITIVE_INFINITY)) {
    yield JSON.parse(decoder.decode(line)) as ExportRecord;
  }
}
