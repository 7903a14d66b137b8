import { getLines } from '@memoryd/contract';
import { UsageError } from '../usage-error.ts';

/** Maximum size of standard input, or of one line of standard input, in bytes. No service accepts a larger memory. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** Keeps a byte order mark, which belongs to a text. */
const textDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Drops a byte order mark at the start of a line. Joined files have one at the start of each file. */
const lineDecoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns all of standard input as text. Removes one line end at the end, which tools such as `echo` add. Throws a
 * UsageError for input that is too large or not UTF-8.
 */
export async function inputText(): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of process.stdin as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MAX_TEXT_BYTES) throw new UsageError(`standard input must be at most ${MAX_TEXT_BYTES} bytes`);
  }
  const text = decode(textDecoder, Buffer.concat(pieces));
  if (text === undefined) throw new UsageError('standard input must be UTF-8');
  return text.replace(/\r?\n$/, '');
}

export interface InputLine {
  /** Line number, counted from 1. */
  number: number;
  /** Undefined if the line is not UTF-8. */
  text: string | undefined;
}

/** Yields the lines of standard input that are not blank, without the byte order mark of a joined file. */
export async function* inputLines(): AsyncGenerator<InputLine, void, undefined> {
  let number = 0;
  for await (const line of getLines(process.stdin, MAX_TEXT_BYTES)) {
    number++;
    const text = decode(lineDecoder, line)?.replace(/\r$/, '');
    if (text?.trim() !== '') yield { number, text };
  }
}

/** Returns whether standard input is a terminal. */
export function isTyped(): boolean {
  return process.stdin.isTTY === true;
}

function decode(decoder: typeof textDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
