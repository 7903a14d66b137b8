import { isUtf8 } from 'node:buffer';
import { LIMITS } from '@memoryd/contract';
import { cutText } from '../../cut-text.ts';
import type { Format, Part } from '../format.ts';
import { toContent, toExternalId, toId, toMetadata, toTextPart } from '../parsing/fields.ts';
import { splitBlocks } from '../parsing/split-text.ts';
import { toUtf8 } from '../parsing/to-utf8.ts';
import { type SourceFile, UnreadableFile } from '../source/source.ts';
import { type FrontMatter, hasFrontMatter, parseNote } from './front-matter.ts';
import { type MarkdownSection, splitSections } from './markdown-sections.ts';

/** Maximum size of a file, which is held in memory. */
const MAX_FILE_BYTES = 8 * 1024 * 1024;
/** Maximum sections of a file, whose ids are held in memory. */
const MAX_SECTIONS = 100_000;
/** Maximum characters (UTF-16 code units) of a memory, with its heading path. */
const MAX_TEXT_CHARS = 2000;
const MAX_PATH_CHARS = 600;

const NAME = /\.(?:md|markdown|mdown|mkd|mdx)$/i;
/** Names without an ending, as of uploads, and names of text files. Does not match names such as `.gitignore`. */
const PLAIN_NAME = /(?:^|\/)[^./][^./]*$|\.te?xt$/i;
/** The start of JSON or HTML. */
const NO_NOTE = /^\s*[[{<]/;

const HEADING = /^\s*#{1,6} \S/;
/**
 * Signs of Markdown below a first heading, since the first line of a Makefile may be a comment that looks like one: a
 * blank line, a heading below it, a list, a link, a sentence.
 */
const SIGNS = [
  /^\s*#[^\n]*(?:\n[ \t\r]*(?:\n|$)|$)/,
  /^#{2,6} \S/m,
  /^ {0,3}[-*+] \S/m,
  /\[[^\]\n]{1,200}\]\(/,
  /^\p{L}.*[.!?。！？]\r?$/mu,
];
/** A rule of a Makefile: a target, and below it a command after a tab. */
const MAKE_RULE = /^[^\s#:]+:[^\n]*\n\t[^\s*+>\d-]/m;

/**
 * Markdown notes: a memory for each section of a heading, with the heading path before its text. Only tags of the front
 * matter become tags, not `#tags` in the text. Links such as `[[Lisbon]]` stay as they are.
 */
export const markdown: Format = {
  name: 'markdown',
  title: 'Markdown',
  files: 'files that end with .md, or a folder with such files',

  recognizes({ path, text }) {
    if (text.includes('\0')) return false;
    if (NAME.test(path)) return true;
    return PLAIN_NAME.test(path) && (hasFrontMatter(text) || hasHeading(text));
  },

  accepts: ({ path, text }) => PLAIN_NAME.test(path) && /\S/.test(text) && !text.includes('\0') && !NO_NOTE.test(text),

  async *read(file, { timeZone }) {
    const { text, refused, isDamaged = false } = await readWhole(file);
    if (refused !== undefined) yield { kind: 'refused', place: file.path, reason: refused };
    if (text === undefined) return;
    const { frontMatter, text: body, line } = parseNote(text, timeZone);
    for (const reason of frontMatter.problems) yield { kind: 'refused', place: `front matter`, reason };
    yield* isDamaged
      ? readSections(file, withoutDamage(frontMatter), splitSections(body, line), hasDamage)
      : readSections(file, frontMatter, splitSections(body, line));
  },
};

/** Returns whether a text begins with a heading, and is not a script whose first line is a comment. */
function hasHeading(text: string): boolean {
  return HEADING.test(text) && SIGNS.some((sign) => sign.test(text)) && !MAKE_RULE.test(text);
}

/** The character that stands for bytes that are not valid UTF-8. */
const REPLACEMENT = '\uFFFD';

function withoutDamage({ title, tags, ...others }: FrontMatter): FrontMatter {
  return {
    ...others,
    title: title?.includes(REPLACEMENT) ? undefined : title,
    tags: tags?.filter((tag) => !tag.includes(REPLACEMENT)),
  };
}

function hasDamage({ headings, blocks }: MarkdownSection): boolean {
  return [...headings, ...blocks].some((text) => text.includes(REPLACEMENT));
}

interface WholeFile {
  /** The readable part; absent for a file that is too large. */
  text?: string;
  refused?: string;
  /** True if characters of the text were replaced, because they are not valid UTF-8. */
  isDamaged?: boolean;
}

/** Reads a file into memory. */
async function readWhole(file: SourceFile): Promise<WholeFile> {
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  let failure: string | undefined;
  try {
    for await (const chunk of toUtf8(file.open())) {
      byteCount += chunk.length;
      if (byteCount > MAX_FILE_BYTES) return { refused: 'a Markdown file must have at most 8 MiB; split it' };
      chunks.push(chunk);
    }
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    failure = error.message;
  }
  const bytes = Buffer.concat(chunks);
  const isDamaged = !isUtf8(bytes);
  if (isDamaged) {
    failure ??= 'some characters are not valid UTF-8, so their sections are not stored; save the file as UTF-8';
  }
  return { text: new TextDecoder().decode(bytes), isDamaged, ...(failure !== undefined && { refused: failure }) };
}

function* readSections(
  file: SourceFile,
  { title, tags, createdAt }: FrontMatter,
  sections: Iterable<MarkdownSection>,
  isSkipped: (section: MarkdownSection) => boolean = () => false,
): Generator<Part> {
  const ids = new SectionIds();
  const fields = {
    tags,
    source: 'markdown',
    session_id: toId(`markdown:${file.path}`, LIMITS.sessionIdChars),
    created_at: createdAt,
    metadata: toMetadata({ path: file.path, title }),
  };
  let textCount = 0;
  let sectionCount = 0;
  let skippedCount = 0;
  for (const section of sections) {
    const { headings, blocks, line, isParent } = section;
    if (++sectionCount > MAX_SECTIONS) {
      const reason = `a Markdown file must have at most ${MAX_SECTIONS} headings; split it`;
      yield { kind: 'refused', place: `line ${line}`, reason };
      return;
    }
    const headingPath = headings.join(' > ');
    const id = ids.create(headingPath);
    if (isSkipped(section)) {
      skippedCount++;
      continue;
    }
    const prefix = cutText(headingPath, MAX_PATH_CHARS);
    let partNumber = 0;
    for (const text of getTexts(prefix, blocks, isParent)) {
      const content = toContent(text);
      if (content === undefined) continue;
      partNumber++;
      const external = partNumber === 1 ? id : ids.create(`${id}, part ${partNumber}`);
      textCount++;
      yield toTextPart(`line ${line}`, {
        ...fields,
        content,
        external_id: toExternalId('markdown', `${file.path}#${external}`),
      });
    }
  }
  if (textCount + skippedCount === 0) yield { kind: 'left-out', reason: 'empty', count: 1 };
}

/**
 * Returns the texts of a section. A heading without text is a text of its own, unless sections below it have its name.
 */
function* getTexts(prefix: string, blocks: readonly string[], isParent: boolean): Generator<string> {
  if (prefix === '') yield* splitBlocks(blocks, MAX_TEXT_CHARS);
  else if (blocks.length === 0) yield isParent ? '' : prefix;
  else for (const text of splitBlocks(blocks, MAX_TEXT_CHARS - prefix.length - 2)) yield `${prefix}\n\n${text}`;
}

/** Numbers equal heading paths, so that each section has an id of its own. */
class SectionIds {
  readonly #used = new Set<string>();
  readonly #counts = new Map<string, number>();

  create(headingPath: string): string {
    let id = headingPath;
    while (this.#used.has(id)) {
      const count = (this.#counts.get(headingPath) ?? 1) + 1;
      this.#counts.set(headingPath, count);
      id = `${headingPath} (${count})`;
    }
    this.#used.add(id);
    return id;
  }
}
