import { beforeEach, expect, type TestContext } from 'vitest';

/** Tests of a suite that an adapter does not meet, by their titles, each with the reason. */
export type Unmet = Readonly<Record<string, string>>;

interface Task {
  name: string;
  tasks?: readonly Task[];
}

/**
 * Skips the tests of the calling block that an adapter does not meet, and reports the reasons. All tests fail if no test
 * of the file has one of the titles, so that the list has only what is really missing.
 */
export function skipUnmet(unmet: Unmet): void {
  let unknown: string[] | undefined;
  beforeEach(({ task, skip }: TestContext) => {
    unknown ??= findUnknown(unmet, task.file);
    expect(unknown, 'titles of no test').toEqual([]);
    const reason = unmet[task.name];
    if (reason !== undefined) skip(reason);
  });
}

function findUnknown(unmet: Unmet, file: Task): string[] {
  const titles = getTitles(file);
  return Object.keys(unmet).filter((title) => !titles.has(title));
}

function getTitles({ name, tasks }: Task): Set<string> {
  return new Set(tasks ? tasks.flatMap((task) => [...getTitles(task)]) : [name]);
}
