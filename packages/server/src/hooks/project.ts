import { hash } from 'node:crypto';
import { posix, win32 } from 'node:path';
import { LIMITS, PROJECT_TAG } from '@memoryd/contract';
import { cutText } from '../cut-text.ts';

/** The project of a session. */
export interface Project {
  /** The git remote without scheme and credentials, or the name of a folder and a digest of its path. */
  id: string;
  branch?: string | undefined;
}

const MAX_BRANCH_CHARS = 256;
const DIGEST_CHARS = 8;
const FOLDER_DIGEST = new RegExp(`-[0-9a-f]{${DIGEST_CHARS}}$`);

/** Characters that no remote and no branch has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Reads the project from headers of a hook. Returns undefined without a valid project; ignores an invalid branch. */
export function readProject(remote: string | undefined, branch: string | undefined): Project | undefined {
  const id = toRemote(decode(remote, LIMITS.projectChars) ?? '');
  return id === '' ? undefined : { id, branch: decode(branch, MAX_BRANCH_CHARS) };
}

/** Decodes percent-encoded UTF-8. Returns undefined for an absent, malformed, empty or too long text. */
function decode(encoded: string | undefined, maxChars: number): string | undefined {
  if (encoded === undefined) return undefined;
  try {
    const text = decodeURIComponent(encoded).trim();
    return text === '' || text.length > maxChars || CONTROL.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Returns a git remote as `host/path`, without scheme, user, password, query and `.git`. */
function toRemote(remote: string): string {
  const [address = ''] = remote.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').split(/[?#]/, 1);
  const [authority = '', ...path] = address.split('/');
  // `git@github.com:ada/garden` of SSH; a number after the colon is a port.
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:(?!\d*$)/, '/');
  return [host.toLowerCase() === host ? host : lowerHost(host), ...path].join('/').replace(/(?:\.git)?\/*$/, '');
}

function lowerHost(host: string): string {
  const [name = '', ...rest] = host.split('/');
  return [name.toLowerCase(), ...rest].join('/');
}

/** Returns the project of a folder, which is never opened: its name and a digest of its path. */
export function toFolderProject(folder: string): Project | undefined {
  const path = normalizeFolder(folder);
  const name = getLastPart(path);
  if (name === '') return undefined;
  const digest = hash('sha256', path).slice(0, DIGEST_CHARS);
  return { id: `${cutText(name, LIMITS.projectChars - DIGEST_CHARS - 1)}-${digest}` };
}

/** Returns the tag of a project, with its name. */
export function toProjectTag({ id }: Project): string {
  // The id of a folder has no `/`, and a digest at its end.
  const name = id.includes('/') ? getLastPart(id) : id.replace(FOLDER_DIGEST, '');
  return cutText(`${PROJECT_TAG}${name}`, LIMITS.tagChars);
}

/**
 * Returns true for a folder itself and for what lies below it. Paths are compared as texts, without regard to case and to
 * the kind of slash: the service does not know the file system, and must not take a private folder for another one.
 */
export function isInFolder(path: string, folder: string): boolean {
  const [inner, outer] = [toComparable(path), toComparable(folder)];
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}

/** Returns whether a folder is known: a relative path may be any folder. */
export function isAbsolute(folder: string): boolean {
  return /^(?:\/|\\|[a-z]:)/i.test(normalizeFolder(folder));
}

function toComparable(folder: string): string {
  return normalizeFolder(folder).toLowerCase().replaceAll('\\', '/').replace(/^\/+/, '/');
}

/** Returns a path with `/` between its parts, none at its end, and no `..`. Paths of Windows are in lower case. */
function normalizeFolder(folder: string): string {
  const text = fromUri(folder.trim()).replaceAll('\0', '').toWellFormed().normalize();
  // `/c:/Users` in the URIs of editors, and `\\?\C:\Users` for long paths.
  const path = text.replace(/^(?:\/|\\\\\?\\)(?=[a-z]:)/i, '');
  if (path === '') return '';
  const isWindows = /^(?:[a-z]:|\\\\)/i.test(path);
  const plain = isWindows ? win32.normalize(path.toLowerCase()).replaceAll('\\', '/') : posix.normalize(path);
  return plain.replace(/\/+$/, '') || '/';
}

/** Returns the path of a URI of an editor, such as `file:///home/ada`, and any other text unchanged. */
function fromUri(text: string): string {
  const path = /^[a-z][a-z0-9+.-]+:\/\/[^/]*(\/.*)$/i.exec(text)?.[1];
  if (path === undefined) return text;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function getLastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
