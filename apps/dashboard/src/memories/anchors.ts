/** A number of memories that match a filter, all created up to a time. Times are in ms since 1970. */
export interface CreatedCount {
  at: number;
  count: number;
}

/** How to read the rows from an index on. */
export interface ReadFrom {
  offset: number;
  since?: string;
  until?: string;
}

/** The counts to fetch before a row can be read: the number of memories created up to each time. */
export interface CountsNeeded {
  times: number[];
}

interface AnchorQuestion {
  index: number;
  total: number;
  dir: 'desc' | 'asc';
  /** Counts that are known, ordered by time; the last one is `total`. */
  counts: readonly CreatedCount[];
  maxOffset: number;
  /** Maximum number of times that one request counts. */
  maxTimes: number;
}

/**
 * Returns how to read the rows from `index` on in a list by creation time, although an offset has a maximum: from the
 * creation time of a row before it. Returns the times to count first if no such time is known. Each round of counts
 * narrows the time between two rows by `maxTimes`.
 *
 * @throws RangeError if more than `maxOffset` memories of the list were created in the same ms before the row
 */
export function findAnchor({
  index,
  total,
  dir,
  counts,
  maxOffset,
  maxTimes,
}: AnchorQuestion): ReadFrom | CountsNeeded {
  if (index <= maxOffset) return { offset: index };
  // Memories created up to a time `at`: in an ascending list they come first, in a descending list last.
  const before = (one: CreatedCount): number => (dir === 'asc' ? one.count : total - one.count);
  const ordered = dir === 'asc' ? counts : counts.toReversed();
  const found = ordered.findLast((one) => before(one) <= index);
  const next = ordered.find((one) => before(one) > index);
  if (found && index - before(found) <= maxOffset) {
    const offset = index - before(found);
    return dir === 'asc'
      ? { offset, since: new Date(found.at + 1).toISOString() }
      : { offset, until: new Date(found.at).toISOString() };
  }
  const from = Math.min(found?.at ?? 0, next?.at ?? 0);
  const to = Math.max(found?.at ?? 0, next?.at ?? 0);
  const stepMs = Math.max(1, Math.ceil((to - from) / (maxTimes + 1)));
  const times: number[] = [];
  for (let at = from + stepMs; at < to && times.length < maxTimes; at += stepMs) times.push(at);
  if (times.length === 0) throw new RangeError('More than 10,000 memories were created at the same time.');
  return { times };
}
