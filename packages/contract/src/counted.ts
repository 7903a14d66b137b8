/** Returns a number of things, such as "1 memory" or "2 memories". `many` is `one` with an s where it is left out. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
