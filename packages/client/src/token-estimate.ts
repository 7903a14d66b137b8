const encoder = new TextEncoder();

/**
 * About how many tokens a text has where no tokenizer is at hand: one for every three characters of ASCII and for every
 * two bytes of UTF-8 beyond. For prose in fourteen languages and for code that is between nine tenths and twice what
 * o200k_base and cl100k_base count; emoji, rare scripts and random letters have more.
 */
export function estimateTokens(text: string): number {
  let sixths = 0;
  for (const byte of encoder.encode(text)) sixths += byte < 0x80 ? 2 : 3;
  return Math.ceil(sixths / 6);
}
