/**
 * Returns a function that returns true once for the response to each request among answered lines: the server receives
 * these requests again, but the client must not receive a second response.
 */
export function createRepeatFilter(answered: readonly string[]): (line: string) => boolean {
  const ids = answered.map((line) => JSON.parse(line).id).filter((id) => id !== undefined);
  return (line) => {
    if (ids.length === 0) return false;
    const { method, id } = JSON.parse(line);
    const index = method === undefined ? ids.indexOf(id) : -1;
    if (index === -1) return false;
    ids.splice(index, 1);
    return true;
  };
}
