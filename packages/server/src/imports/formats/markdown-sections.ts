import { cutText } from '../../cut-text.ts';

/** Maximum characters of one heading in a heading path. A longer heading is also the first block of its section. */
const MAX_HEADING_CHARS = 120;

/** The text below one heading. */
export interface MarkdownSection {
  /** The headings that lead to the section, its own last. Empty before the first heading. */
  headings: readonly string[];
  /** Paragraphs, lists and other texts between blank lines, and blocks of code. */
  blocks: readonly string[];
  /** The line of the heading, counted from 1. */
  line: number;
  /** True if the next heading is below this one. */
  isParent: boolean;
}

interface Heading {
  level: number;
  title: string;
}

/**
 * Splits Markdown into the sections of its headings, in one pass over the lines. Headings are `# Heading`, and a line
 * that is underlined with `=` or `-`. Lines in blocks of code and in comments are no headings.
 *
 * The time is proportional to the length. Parsers of the whole syntax need quadratic time for some texts, such as one
 * list item of 200,000 lines.
 */
export function* splitSections(text: string, firstLine = 1): Generator<MarkdownSection> {
  const lines = text.split(/\r\n|\n|\r/);
  const path: Heading[] = [];
  let section = new SectionBuilder([], firstLine);
  for (const [index, line] of lines.entries()) {
    const heading = section.isInside ? undefined : parseHeading(line, section.getUnderlinable());
    if (!heading) {
      section.add(line);
      continue;
    }
    if (heading.isUnderline) section.takeParagraph();
    const parent = path.at(-1);
    yield section.toSection(parent !== undefined && heading.level > parent.level);
    while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
    path.push({ level: heading.level, title: cutText(heading.title, MAX_HEADING_CHARS) });
    section = new SectionBuilder(
      path.map(({ title }) => title),
      firstLine + index - (heading.isUnderline ? 1 : 0),
    );
    if (heading.title.length > MAX_HEADING_CHARS) section.addBlock(heading.title);
  }
  yield section.toSection(false);
}

const COMMENT = /^ {0,3}<!--/;
const FENCE = /^[ \t]*(?:[-*+>][ \t]+)?(`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
/** The first characters of lines that are no plain paragraph: lists, quotes, tables, code. */
const NO_PARAGRAPH = /^(?: {4}|\t| {0,3}(?:[-*+>|#]|\d{1,9}[.)]))/;

/** Collects the blocks of a section. */
class SectionBuilder {
  readonly #headings: readonly string[];
  readonly #line: number;
  readonly #blocks: string[] = [];
  #lines: string[] = [];
  /** Tests whether a line closes the open block of code or comment. Undefined outside of both. */
  #end: ((line: string) => boolean) | undefined;

  constructor(headings: readonly string[], line: number) {
    this.#headings = headings;
    this.#line = line;
  }

  /** True in a block of code or a comment. */
  get isInside(): boolean {
    return this.#end !== undefined;
  }

  /** Returns the line that a following underline would make a heading: a paragraph of one line. */
  getUnderlinable(): string | undefined {
    const [line = ''] = this.#lines;
    const isHeading = this.#lines.length === 1 && line.length <= MAX_HEADING_CHARS && !NO_PARAGRAPH.test(line);
    return isHeading ? line : undefined;
  }

  add(line: string): void {
    if (this.#end) {
      this.#lines.push(line);
      if (this.#end(line)) this.#end = undefined;
      return;
    }
    const fence = FENCE.exec(line)?.[1];
    if (fence !== undefined && !(fence[0] === '`' && line.slice(line.indexOf(fence) + fence.length).includes('`'))) {
      this.#end = (end) => isFenceEnd(end, fence);
    } else if (COMMENT.test(line) && !line.includes('-->')) {
      this.#end = (end) => end.includes('-->');
    }
    if (line.trim() === '') this.#close();
    else this.#lines.push(line);
  }

  addBlock(block: string): void {
    this.#blocks.push(block);
  }

  /** Removes the open paragraph, which is a heading. */
  takeParagraph(): void {
    this.#lines = [];
  }

  toSection(isParent: boolean): MarkdownSection {
    this.#close();
    return { headings: this.#headings, blocks: this.#blocks, line: this.#line, isParent };
  }

  #close(): void {
    const block = this.#lines.join('\n').trimEnd();
    if (block !== '') this.#blocks.push(block);
    this.#lines = [];
    this.#end = undefined;
  }
}

function isFenceEnd(line: string, fence: string): boolean {
  const end = line.trim();
  return end.length >= fence.length && end === end.charAt(0).repeat(end.length) && end[0] === fence[0];
}

function parseHeading(line: string, paragraph: string | undefined): (Heading & { isUnderline: boolean }) | undefined {
  if (paragraph !== undefined && UNDERLINE.test(line)) {
    return { level: line.includes('=') ? 1 : 2, title: toTitle(paragraph), isUnderline: true };
  }
  const [, marks = '', rest = ''] = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/.exec(line) ?? [];
  const title = toTitle(withoutClosingMarks(rest));
  return marks !== '' && title !== '' ? { level: marks.length, title, isUnderline: false } : undefined;
}

/** Removes the marks at the end of `## Heading ##`. */
function withoutClosingMarks(rest: string): string {
  const title = rest.trim();
  let end = title.length;
  while (title[end - 1] === '#') end--;
  return end === 0 || title[end - 1] === ' ' || title[end - 1] === '\t' ? title.slice(0, end) : title;
}

function toTitle(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
