/** The options of a command line of `memoryd mcp`, by name; true for an option without a value. */
export type CommandLineOptions = ReadonlyMap<string, string | true>;

/**
 * Reads arguments of `memoryd mcp`, without checking values. Returns undefined for a command line that is not of the
 * simplest valid form, such as one with an unknown option or `--help`, which the command line itself must read.
 *
 * @param options the known options, and whether each takes a value
 */
export function readArguments(
  args: readonly string[],
  options: Readonly<Record<string, boolean>>,
): CommandLineOptions | undefined {
  const given = new Map<string, string | true>();
  const rest = [...args];
  while (rest.length > 0) {
    const [, name = '', attached] = /^([^=]*)(?:=(.*))?$/s.exec(rest.shift() ?? '') ?? [];
    if (!Object.hasOwn(options, name)) return undefined;
    const value = options[name] ? (attached ?? rest.shift()) : attached === undefined || undefined;
    if (value === undefined) return undefined;
    given.set(name, value);
  }
  return given;
}
