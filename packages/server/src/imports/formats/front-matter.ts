import { LIMITS } from '@memoryd/contract';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { isObject, toLabel, toTags } from '../parsing/fields.ts';
import { toImportedTime } from '../parsing/times.ts';

/** Maximum characters of front matter; a longer one is text. */
const MAX_CHARS = 64 * 1024;

/** Fields at the beginning of a note. */
export interface FrontMatter {
  title?: string | undefined;
  tags?: string[] | undefined;
  createdAt?: string | undefined;
  /** Why fields could not be read. */
  problems: string[];
}

/** A note without its front matter. */
export interface Note {
  frontMatter: FrontMatter;
  text: string;
  /** The first line of `text` in the file, counted from 1. */
  line: number;
}

/**
 * Separates the front matter of a note: YAML between lines `---`, or TOML between lines `+++`. Only title, tags, and
 * the time (`date`, `created` or `updated`) are used. Front matter that cannot be parsed is listed as a problem, and is
 * not text of the note.
 */
export function parseNote(note: string, timeZone: string): Note {
  const { mark, matter, text, line } = splitNote(note);
  if (matter === undefined) return { frontMatter: { problems: [] }, text: note, line: 1 };
  try {
    // The check for repeated fields takes quadratic time. The last of them counts.
    const fields: unknown =
      mark === '+++' ? parseToml(matter) : parseYaml(matter, { logLevel: 'error', uniqueKeys: false });
    if (isObject(fields)) return { frontMatter: toFrontMatter(fields, timeZone), text, line };
    // Two rules around a paragraph look like front matter.
    return fields === null
      ? { frontMatter: { problems: [] }, text, line }
      : { frontMatter: { problems: [] }, text: note, line: 1 };
  } catch (error) {
    const language = mark === '+++' ? 'TOML' : 'YAML';
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    return { frontMatter: { problems: [`front matter must be valid ${language}: ${reason}`] }, text, line };
  }
}

/** Returns whether a text begins with front matter. */
export function hasFrontMatter(text: string): boolean {
  return splitNote(text).matter !== undefined;
}

function splitNote(note: string): { mark: string; matter?: string; text: string; line: number } {
  const [, mark = ''] = /^(---|\+\+\+)[ \t]*\r?\n/.exec(note) ?? [];
  const none = { mark, text: note, line: 1 };
  if (mark === '') return none;
  const start = note.indexOf('\n') + 1;
  for (let at = start; at >= start && at < note.length && at - start <= MAX_CHARS; ) {
    const end = note.indexOf('\n', at);
    const next = end < 0 ? note.length : end + 1;
    if (note.slice(at, Math.min(next, at + 64)).trimEnd() === mark) {
      const matter = note.slice(start, at);
      return { mark, matter, text: note.slice(next), line: matter.split('\n').length + 2 };
    }
    at = next;
  }
  return none;
}

function toFrontMatter(fields: Record<string, unknown>, timeZone: string): FrontMatter {
  const byName = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
  const problems: string[] = [];
  let createdAt: string | undefined;
  for (const name of ['date', 'created', 'updated']) {
    // TOML has a type of its own for times, whose text is as in the file.
    const value = byName.get(name);
    const given = value instanceof Date ? value.toISOString() : value;
    if (given === undefined || given === null || given === '') continue;
    createdAt ??= toImportedTime(given, timeZone);
    if (createdAt !== undefined) break;
    problems.push(
      `${name} must be an ISO 8601 date or date and time, such as 2026-01-31; the time of the file is used`,
    );
  }
  return {
    title: toLabel(byName.get('title'), LIMITS.sourceChars),
    tags: toTags(toTagList(byName.get('tags') ?? byName.get('tag'))),
    createdAt,
    problems: createdAt === undefined ? problems.slice(0, 1) : [],
  };
}

/** Returns the tags of a list or of a text with commas, without the `#` that some programs write. */
function toTagList(value: unknown): unknown[] {
  const list: unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [value];
  return list.map((tag) => (typeof tag === 'string' ? tag.trim().replace(/^#/, '') : tag));
}
