/** Share of the free memory that a further thread may take, so that the service stays below its own limit. */
const MAX_SHARE = 0.5;

/** The question is asked by each search that has to wait, and its answer reads two files of the system. */
const MIN_INTERVAL_MS = 1000;

let answered = { at: Number.NEGATIVE_INFINITY, hasRoom: false };

/**
 * Returns whether the machine or container has memory for a further thread like one of this process. A thread takes at
 * most as much as the whole process.
 */
export function hasRoomForThread(): boolean {
  const at = performance.now();
  if (at - answered.at < MIN_INTERVAL_MS) return answered.hasRoom;
  answered = { at, hasRoom: process.memoryUsage.rss() <= process.availableMemory() * MAX_SHARE };
  return answered.hasRoom;
}
