/** Share of the free memory that a further thread may take, so that the service stays below its own limit. */
const MAX_SHARE = 0.5;

/**
 * Returns whether the machine or container has memory for a further thread like one of this process. A thread takes at
 * most as much as the whole process.
 */
export function hasRoomForThread(): boolean {
  return process.memoryUsage.rss() <= process.availableMemory() * MAX_SHARE;
}
