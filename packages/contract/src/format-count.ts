/** Formats a count with its noun, such as "1 memory" or "2 memories". `many` defaults to `one` with an appended "s". */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
