/** Kinds of values that are known only at run time: their placeholders are replaced when a request is sent. */
type Kind = 'memory' | 'consolidation' | 'import' | 'change' | 'cursor' | 'event' | 'raw';

/** Kinds of recorded values. Cursors are recorded per operation that returned them. */
type Source = Exclude<Kind, 'cursor' | 'raw'> | `cursor ${string}`;

/** Returns a placeholder that encoding in a URL, a header or JSON does not change. */
export function placeholder(kind: Kind, which: string | number): string {
  return `--${kind}:${which}--`.replaceAll(':', '.');
}

const TOKEN = /--(memory|consolidation|import|change|cursor|event)\.(\d+)--/g;
const RAW = /"--raw\.([^"]*?)--"/g;

/** The last 1,000 values of each kind in the server's responses. */
export class KnownValues {
  readonly #values = new Map<string, string[]>();

  add(kind: Source, value: string): void {
    const values = this.#values.get(kind) ?? [];
    values.push(value);
    if (values.length > 1000) values.shift();
    this.#values.set(kind, values);
  }

  /** Replaces the placeholders in a text. A placeholder without a known value becomes `none`. */
  fill(text: string, operation: string, encode: (value: string) => string = (value) => value): string {
    return text
      .replaceAll(TOKEN, (_, kind: string, which: string) => {
        const values = this.#values.get(kind === 'cursor' ? `cursor ${operation}` : kind) ?? [];
        return encode(values[Number(which) % Math.max(1, values.length)] ?? 'none');
      })
      .replaceAll(RAW, '$1');
  }
}
