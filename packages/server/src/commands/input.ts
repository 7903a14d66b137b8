import { getLines } from '@memoryd/contract';
import { UsageError } from '../usage-error.ts';

/** More than any service takes as one memory. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

const decoder = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** All of standard input as a text, but for one line end at its end, which tools add. */
export async function inputText(): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of process.stdin as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > MAX_TEXT_BYTES) throw new UsageError(`standard input is larger than ${MAX_TEXT_BYTES} bytes`);
  }
  const text = decoded(Buffer.concat(pieces));
  if (text === undefined) throw new UsageError('standard input is not UTF-8');
  return text.replace(/\r?\n$/, '');
}

/** A line of standard input. */
export interface InputLine {
  /** Counted from 1. */
  number: number;
  /** Undefined where the line is not UTF-8. */
  text: string | undefined;
}

/** The lines of standard input that are not blank, as they come. */
export async function* inputLines(): AsyncGenerator<InputLine, void, undefined> {
  let number = 0;
  for await (const line of getLines(process.stdin, MAX_TEXT_BYTES)) {
    number++;
    const text = decoded(line)?.replace(/\r$/, '');
    if (text?.trim() !== '') yield { number, text };
  }
}

/** Whether a person sits at standard input, whom nobody asked to type. */
export function isTyped(): boolean {
  return process.stdin.isTTY === true;
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decoder().decode(bytes);
  } catch {
    return undefined;
  }
}
