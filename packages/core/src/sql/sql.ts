/** A SQL statement, or a fragment of a statement, with its parameter values. */
export class Sql {
  readonly parts: readonly string[];
  readonly values: readonly unknown[];

  constructor(parts: readonly string[], values: readonly unknown[]) {
    this.parts = parts;
    this.values = values;
  }

  /** The statement with the placeholders `$1`, `$2` and so on. */
  get text(): string {
    return this.parts.reduce((text, part, i) => `${text}$${i}${part}`);
  }
}

/**
 * Template tag for a statement. Values in `${…}` become parameters. An `Sql` value in `${…}` is inserted as a fragment,
 * together with its parameters.
 */
export function sql(strings: TemplateStringsArray, ...inserted: unknown[]): Sql {
  // Each evaluation of a template has the same array of parts, so a driver can use the array as a cache key.
  if (!inserted.some((value) => value instanceof Sql)) return new Sql(strings, inserted);
  const parts = [strings[0] as string];
  const values: unknown[] = [];
  inserted.forEach((value, i) => {
    const after = strings[i + 1] as string;
    if (value instanceof Sql) {
      const [first, ...rest] = value.parts as [string, ...string[]];
      parts.push(`${parts.pop()}${first}`, ...rest);
      parts.push(`${parts.pop()}${after}`);
      values.push(...value.values);
    } else {
      parts.push(after);
      values.push(value);
    }
  });
  return new Sql(parts, values);
}

/** Returns a fragment with literal text. The text must never contain client input. */
export function raw(text: string): Sql {
  return new Sql([text], []);
}

/** Joins fragments with a separator. */
export function join(parts: readonly Sql[], separator: string): Sql {
  return parts.slice(1).reduce((all, part) => sql`${all}${raw(separator)}${part}`, parts[0] ?? raw(''));
}
