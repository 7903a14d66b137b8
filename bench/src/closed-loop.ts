/**
 * Runs `task(0)` to `task(count - 1)` from so many clients, each of which takes the next index as soon as its last
 * task is done: a closed loop. The first failure ends all clients and is thrown.
 *
 * @param isOver asked before each task; true ends the loop early
 */
export async function closedLoop(
  count: number,
  clients: number,
  task: (index: number) => Promise<void>,
  isOver: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count && !isOver()) {
      const index = next++;
      try {
        await task(index);
      } catch (error) {
        next = count;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client));
}
