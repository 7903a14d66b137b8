/** What a request names that only the running server can tell: replaced when the request is sent. */
type Kind = 'memory' | 'consolidation' | 'cursor' | 'event' | 'raw';

/** Cursors are told apart by the operation that gave them out. */
type Source = Exclude<Kind, 'cursor' | 'raw'> | `cursor ${string}`;

/** A placeholder that any encoding of a URL, a header or JSON leaves as it is. */
export function token(kind: Kind, which: string | number): string {
  return `--${kind}:${which}--`.replaceAll(':', '.');
}

const TOKEN = /--(memory|consolidation|cursor|event)\.(\d+)--/g;
const RAW = /"--raw\.([^"]*?)--"/g;

/** What the server has told of itself so far, by kind; of many, the last ones. */
export class Told {
  readonly #values = new Map<string, string[]>();

  add(kind: Source, value: string): void {
    const values = this.#values.get(kind) ?? [];
    values.push(value);
    if (values.length > 1000) values.shift();
    this.#values.set(kind, values);
  }

  /** The text with its placeholders filled in; what is not known yet becomes a word that names nothing. */
  fill(text: string, operation: string, encode: (value: string) => string = (value) => value): string {
    return text
      .replaceAll(TOKEN, (_, kind: string, which: string) => {
        const values = this.#values.get(kind === 'cursor' ? `cursor ${operation}` : kind) ?? [];
        return encode(values[Number(which) % Math.max(1, values.length)] ?? 'none');
      })
      .replaceAll(RAW, '$1');
  }
}
