/** A file that connect leaves alone, because its text cannot be changed safely. The message names file, line and fix. */
export class UnchangeableFile extends Error {
  override readonly name = 'UnchangeableFile';
}

/** Returns the line of an offset in a text, counted from 1. */
export function getLine(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** Returns the line end that a text uses: that of its first line. */
export function getLineEnd(text: string): '\r\n' | '\n' {
  return /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n';
}

/** An entry that connect does not write, because someone else has one with its name. Other entries are written. */
export class ForeignEntry extends Error {
  override readonly name = 'ForeignEntry';
}
