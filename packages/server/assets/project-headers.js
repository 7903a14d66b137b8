import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Returns the text of a file; undefined if it cannot be read. */
export function read(...segments) {
  try {
    return readFileSync(resolve(...segments), 'utf8');
  } catch {
    return undefined;
  }
}

/**
 * Returns headers with the remote `origin` and the branch of the repository of a folder, percent-encoded, such as
 * `github.com%2Fada%2Fgarden`. Reads the files of git without starting it. The remote has no scheme, credentials, port,
 * query or `.git`; a path on this machine is left out.
 */
export function getProjectHeaders(folder) {
  let top = resolve(folder);
  while (!existsSync(join(top, '.git'))) {
    if (top === dirname(top)) return {};
    top = dirname(top);
  }
  // In a worktree or submodule, `.git` is a file, and the configuration may be in another folder.
  const git = resolve(top, /^gitdir: (.*)/.exec(read(top, '.git'))?.[1] ?? '.git');
  const config = read(git, (read(git, 'commondir') ?? '.').trim(), 'config');
  const url = /^\[remote "origin"\](?:[^\n]*\n(?!\s*\[))+?\s*url\s*=\s*"?([^\s"]+)/m.exec(config)?.[1] ?? '';
  const branch = /^ref: refs\/heads\/(.*)/.exec(read(git, 'HEAD'))?.[1];
  return toProjectHeaders(url, branch);
}

/** Returns the headers for the URL of a remote and a branch. */
export function toProjectHeaders(url, branch) {
  const remote = url
    .replace(/^[\w+.-]+:\/\//, '')
    .replace(/^[^/]*@/, '')
    .replace(/^(\w[^/:]+):(\d+\/)?/, '$1/')
    .replace(/[?#].*/, '')
    .replace(/(\.git)?\/*$/, '')
    .replace(/\/+/g, '/');
  return {
    // A colon or an at sign that is left may follow a password.
    ...(/^\w[\w.-]+\/[^:@]+$/.test(remote) && { 'X-Memoryd-Project': encodeURIComponent(remote) }),
    ...(branch && { 'X-Memoryd-Branch': encodeURIComponent(branch) }),
  };
}
