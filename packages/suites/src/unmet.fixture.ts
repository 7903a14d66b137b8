import { afterAll, beforeEach, expect, type TestContext } from 'vitest';

/** Tests of a suite that an adapter does not meet, by their titles, each with the reason. */
export type Unmet = Readonly<Record<string, string>>;

interface Task {
  name: string;
  tasks?: readonly Task[];
}

/**
 * Skips the tests of the calling block that an adapter does not meet, and reports the reasons. Fails if no test has one
 * of the titles, so that the list holds only what is really missing.
 */
export function skipUnmet(unmet: Unmet): void {
  beforeEach(({ task, skip }: TestContext) => {
    const reason = unmet[task.name];
    if (reason !== undefined) skip(reason);
  });
  afterAll((suite: Readonly<Task>) => {
    const titles = getTitles(suite);
    expect(
      Object.keys(unmet).filter((title) => !titles.has(title)),
      'titles of no test',
    ).toEqual([]);
  });
}

function getTitles({ name, tasks }: Task): Set<string> {
  return new Set(tasks ? tasks.flatMap((task) => [...getTitles(task)]) : [name]);
}
