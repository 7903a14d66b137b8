/** A fact, such as `score 0.50`; a fact with names, such as `["tags", "a", "b"]`. */
type Fact = string | string[];

/** A memory that `readListing` finds. */
export interface ListedMemory {
  facts: Fact[];
  text: string;
}

/** Everything that a reader could take for a line break. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters break lines
const LINE_BREAK = /\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/;

/** Reads the memories of a listing, as a model does that goes by the fence and the indentation. */
export function readListing(listing: string): ListedMemory[] {
  const lines = listing.split(LINE_BREAK);
  const memories: { facts: Fact[]; lines: string[] }[] = [];
  for (const line of lines.slice(lines.indexOf('<memories>') + 1, lines.indexOf('</memories>'))) {
    if (line.startsWith('  ')) memories.at(-1)?.lines.push(line.slice(2));
    else memories.push({ facts: readFacts(line), lines: [] });
  }
  return memories.map((memory) => ({ facts: memory.facts, text: memory.lines.join('\n') }));
}

function readFacts(line: string): Fact[] {
  return line.split(' · ').map((fact) => {
    const start = fact.indexOf('"');
    return start < 0 ? fact : [fact.slice(0, start).trim(), ...JSON.parse(`[${fact.slice(start)}]`)];
  });
}

/** Returns a text with its line breaks as the listing has them. */
export function toListedText(text: string): string {
  return text.split(LINE_BREAK).join('\n');
}
