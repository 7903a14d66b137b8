/**
 * Runs `task(0)` to `task(count - 1)` as a closed loop: each of `clients` workers takes the next index when its
 * previous task has finished. After the first failure, no further task starts, and the failure is thrown.
 *
 * @param isOver called before each task; the loop ends early if the result is true
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
