/**
 * Maximum size of the name of an entry, with its folders. Windows allows 260 characters by default, macOS 1,024 bytes.
 */
export const MAX_ENTRY_NAME_BYTES = 1024;
const MAX_PLACE_CHARS = 200;

/** Folders and files of programs and systems, in which nobody keeps texts of their own. */
const SKIPPED_NAMES = new Set(['node_modules', '__MACOSX', '__pycache__']);

/** The hidden folders of agent programs, with the folders in them that have conversations. */
const PROGRAM_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  '.claude': ['projects'],
  '.codex': ['sessions', 'archived_sessions'],
  '.gemini': ['tmp'],
};

/**
 * Returns whether a path inside a source is skipped and not reported, such as `.git/config`. Conversations in the
 * hidden folders of agent programs are read, such as `.claude/projects/garden/a.jsonl` in a backup.
 */
export function isSkipped(path: string): boolean {
  const names = path.split('/');
  return names.some((name, index) => {
    if (SKIPPED_NAMES.has(name)) return true;
    if (!name.startsWith('.')) return false;
    const next = names[index + 1];
    const read = Object.hasOwn(PROGRAM_FOLDERS, name) ? PROGRAM_FOLDERS[name] : undefined;
    return !read || (next !== undefined && !read.includes(next));
  });
}

/** Returns the path of an entry of a zip, with `/` and without `.`; or why the entry is refused. */
export function checkEntryName(name: string): { path: string } | { reason: string } {
  if (name.length > MAX_ENTRY_NAME_BYTES) return { reason: `its name is longer than ${MAX_ENTRY_NAME_BYTES} bytes` };
  if (hasControlCharacters(name)) return { reason: 'its name has control characters' };
  const slashed = name.replaceAll('\\', '/');
  if (slashed.startsWith('/') || /^[a-z]:/i.test(slashed)) return { reason: 'its name is an absolute path' };
  const names = slashed.split('/').filter((part) => part !== '' && part !== '.');
  if (names.includes('..')) return { reason: 'its name leads out of the zip' };
  return names.length > 0 ? { path: names.join('/') } : { reason: 'it has no name' };
}

/** Returns a path as lists of refused items show it. */
export function toPlace(path: string): string {
  const shown = [...path.slice(0, MAX_PLACE_CHARS)]
    .map((char) => (hasControlCharacters(char) ? '\uFFFD' : char))
    .join('');
  return path.length > MAX_PLACE_CHARS ? `${shown.toWellFormed()}…` : shown.toWellFormed();
}

function hasControlCharacters(text: string): boolean {
  return /\p{Cc}/u.test(text);
}
