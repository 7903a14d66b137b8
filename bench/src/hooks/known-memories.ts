import type { Owner } from './prompt-hook.ts';

/** A memory that a context may contain. */
export interface KnownMemory extends Owner {
  content: string;
  /** `turn`: stored before the prompts. `prompt`: stored by a hook. */
  kind: 'turn' | 'prompt';
}

/** Line breaks that a context replaces by a line feed and an indentation. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters break lines
const LINE_BREAK = /\r\n|[\n\v\f\r\u001c-\u001e\u0085\u2028\u2029]/;

/** Finds the memories of a context by their texts. All contents must be different. */
export class KnownMemories {
  readonly #byText = new Map<string, KnownMemory>();

  add(memory: KnownMemory): void {
    const text = toListedText(memory.content);
    const known = this.#byText.get(text);
    if (known && (known.user !== memory.user || known.project !== memory.project))
      throw new Error(`the contents of different owners must differ, but two of them have: ${memory.content}`);
    this.#byText.set(text, memory);
  }

  /** Returns the memories of a context, with undefined for each text that is no known memory or part of one. */
  read(context: string): (KnownMemory | undefined)[] {
    return readTexts(context).map((text) => this.#byText.get(text) ?? this.#findLong(text));
  }

  /** A context shows only a part of a long memory. */
  #findLong(text: string): KnownMemory | undefined {
    for (const [known, memory] of this.#byText) if (known.includes(text)) return memory;
    return undefined;
  }
}

/** Returns the text of each memory of a context: the indented lines after a line of facts. */
function readTexts(context: string): string[] {
  const lines = context.split('\n');
  const texts: string[][] = [];
  for (const line of lines.slice(lines.indexOf('<memories>') + 1, lines.lastIndexOf('</memories>'))) {
    if (line.startsWith('  ')) texts.at(-1)?.push(line.slice(2));
    else texts.push([]);
  }
  return texts.map((text) => text.join('\n'));
}

function toListedText(content: string): string {
  return content.split(LINE_BREAK).join('\n');
}
