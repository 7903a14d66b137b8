import type { FileHandle } from 'node:fs/promises';
import { getLines } from '@memoryd/contract';
import { textsTooLong } from '../core/record-size.ts';
import type { KeptRecord } from '../ports/storage-kept.ts';

/** A record as a line of a copy, without its end. UNAVAILABLE where it is longer than a string can be. */
export function toLine(record: KeptRecord): string {
  try {
    return JSON.stringify(record);
  } catch (error) {
    throw error instanceof RangeError && 'memory' in record ? textsTooLong(record.memory.id) : error;
  }
}

const PIECE_BYTES = 256 * 1024;

/** A file that is open to be read once; `close` frees its room. */
export interface OpenFile {
  file: FileHandle;
  close(): Promise<void>;
}

/** The bytes of a file from where it stands. Closes it at the end, or when it is left. */
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

/** The records of a file that holds one as JSON a line. */
export async function* getRecords(copy: OpenFile): AsyncIterable<KeptRecord> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  for await (const line of getLines(getPieces(copy), Number.POSITIVE_INFINITY)) {
    yield JSON.parse(decoder.decode(line)) as KeptRecord;
  }
}
