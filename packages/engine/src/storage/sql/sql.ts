/** A statement, or a part of one, with the values of its parameters. */
export class Sql {
  readonly parts: readonly string[];
  readonly values: readonly unknown[];

  constructor(parts: readonly string[], values: readonly unknown[]) {
    this.parts = parts;
    this.values = values;
  }

  /** The statement with `$1`, `$2` and so on for its values. */
  get text(): string {
    return this.parts.reduce((text, part, i) => `${text}$${i}${part}`);
  }
}

/**
 * Writes a statement. What stands in `${…}` becomes a parameter, but for another `Sql`, which becomes a part of the text
 * with parameters of its own.
 */
export function sql(strings: TemplateStringsArray, ...inserted: unknown[]): Sql {
  // These parts are the same array at every call, by which a driver may know the statement again.
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

/** A part of a statement as it stands. Never made of what a caller says. */
export function raw(text: string): Sql {
  return new Sql([text], []);
}

/** Parts with `separator` between them. */
export function join(parts: readonly Sql[], separator: string): Sql {
  return parts.slice(1).reduce((all, part) => sql`${all}${raw(separator)}${part}`, parts[0] ?? raw(''));
}
