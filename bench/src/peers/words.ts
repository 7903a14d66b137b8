/** Returns the distinct words and numbers of a question, in lower case. */
export function getWords(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
}
