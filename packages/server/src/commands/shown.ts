/** What stands for what a terminal would obey: control characters, and those that turn the direction of a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OBEYED = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text in one line, in which nothing is obeyed by a terminal. */
export function shown(text: string): string {
  return text.replaceAll('\n', ' ').replace(OBEYED, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
