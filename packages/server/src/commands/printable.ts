/**
 * Characters that a terminal interprets instead of showing: control characters, line separators, and marks that change
 * the direction of a line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are replaced
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Returns a text as one line: line feeds become spaces, and other characters of `CONTROLS` are escaped as `\u{…}`. */
export function toPrintable(text: string): string {
  return text.replaceAll('\n', ' ').replace(CONTROLS, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Returns a text of several lines with the same lines, each as `toPrintable` returns it. */
export function toPrintableLines(text: string): string {
  return text.split('\n').map(toPrintable).join('\n');
}
