import { StringShortener } from './parsing/shorten-strings.ts';
import { toUtf8 } from './parsing/to-utf8.ts';
import { type SourceFile, UnreadableFile } from './source/source.ts';

const HEAD_BYTES = 64 * 1024;
/** Bytes of a JSON file that are read if its first 64 KiB show no format, as those of a long text or an image do. */
export const LONG_HEAD_BYTES = 16 * 1024 * 1024;
/** Bytes of a long head that are held, with shortened strings, and bytes of a string. */
const SHORTENED_BYTES = { head: 1024 * 1024, string: 256 };

/** The first bytes of a file. */
export interface Head {
  bytes: Buffer;
  isWhole: boolean;
  /** Why the file could not be read further. */
  fault?: string;
}

export async function readHead(file: SourceFile): Promise<Head> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let fault: string | undefined;
  try {
    for await (const chunk of file.open()) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > HEAD_BYTES) break;
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    fault = error.message;
  }
  const bytes = Buffer.concat(chunks).subarray(0, HEAD_BYTES);
  if (fault !== undefined) return { bytes, isWhole: false, fault };
  return { bytes, isWhole: length <= HEAD_BYTES };
}

/** Reads the beginning of a JSON file with shortened strings, so that the fields behind a long text are in it. */
export async function readLongHead(file: SourceFile, maxBytes: number): Promise<Head & { readBytes: number }> {
  const shortener = new StringShortener(SHORTENED_BYTES.string);
  const chunks: Buffer[] = [];
  let readBytes = 0;
  let length = 0;
  let isWhole = true;
  let fault: string | undefined;
  try {
    for await (const chunk of toUtf8(file.open())) {
      readBytes += chunk.length;
      const part = shortener.shorten(chunk);
      chunks.push(part);
      length += part.length;
      isWhole = readBytes <= maxBytes && length <= SHORTENED_BYTES.head;
      if (!isWhole) break;
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    fault = error.message;
  }
  const bytes = Buffer.concat(chunks).subarray(0, SHORTENED_BYTES.head);
  return { bytes, readBytes, isWhole: isWhole && fault === undefined, ...(fault !== undefined && { fault }) };
}

/** Decodes a head. Leaves out a character that its end cuts. */
export async function decodeHead({ bytes, isWhole }: Head): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of toUtf8(yieldOnce(bytes))) text += decoder.decode(chunk, { stream: true });
  return isWhole ? text + decoder.decode() : text;
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
