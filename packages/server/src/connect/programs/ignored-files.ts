import { readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { joinPath } from '../machine.ts';
import type { FileEdit, Machine } from '../types.ts';

/**
 * Returns the change that makes git ignore a file of a project. The change is in `.git/info/exclude`, which git keeps on
 * this machine, so that no file of the team changes. Returns nothing outside a git repository.
 *
 * @param file the path relative to the project's folder, with slashes
 */
export function getIgnoreEdits(machine: Machine, project: string, file: string): FileEdit[] {
  const repository = findRepository(project);
  if (repository === undefined) return [];
  const below = project.slice(repository.top.length).replaceAll('\\', '/').replace(/^\//, '');
  const line = `/${below === '' ? '' : `${below}/`}${file}`;
  return [{ kind: 'line', path: joinPath(machine, repository.gitFolder, 'info', 'exclude'), line }];
}

/** Returns the nearest folder with a `.git`, and the git folder that worktrees share. */
function findRepository(folder: string): { top: string; gitFolder: string } | undefined {
  const git = resolve(folder, '.git');
  const stats = statSync(git, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return { top: folder, gitFolder: git };
  if (stats?.isFile()) return { top: folder, gitFolder: getCommonFolder(folder, git) };
  const parent = dirname(folder);
  return parent === folder ? undefined : findRepository(parent);
}

/** Returns the git folder that a `.git` file of a worktree or submodule points to. */
function getCommonFolder(top: string, gitFile: string): string {
  const [, target = ''] = /^gitdir: (.*?)\r?\n?$/.exec(readFileSync(gitFile, 'utf8')) ?? [];
  const gitFolder = isAbsolute(target) ? target : resolve(top, target);
  try {
    return resolve(gitFolder, readFileSync(resolve(gitFolder, 'commondir'), 'utf8').trim());
  } catch {
    return gitFolder;
  }
}
