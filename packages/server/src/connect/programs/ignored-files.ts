import { readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { joinPath } from '../machine.ts';
import type { FileEdit, Machine } from '../types.ts';

/**
 * Returns the changes that make git ignore files of a project, because they name the user and paths of this machine. Files
 * that git tracks are not ignored. The changes are in `.git/info/exclude`, which git keeps on this machine, so that no
 * file of the team changes. Returns nothing outside a git repository.
 *
 * @param files absolute paths in the project's folder
 */
export function getIgnoreEdits(machine: Machine, project: string, files: readonly string[]): FileEdit[] {
  const repository = findRepository(project);
  if (repository === undefined) return [];
  const path = joinPath(machine, repository.gitFolder, 'info', 'exclude');
  return files.map((file) => {
    const below = file.slice(repository.top.length).replaceAll('\\', '/').replace(/^\/*/, '/');
    return { kind: 'line', path, line: below.replaceAll(/[*?[]/g, '\\$&') };
  });
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
