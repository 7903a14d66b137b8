import { cutText } from '../../cut-text.ts';

/** Characters that the segmenter reads at once, so that its memory does not grow with the text. */
const SEGMENTED_CHARS = 16_384;

const SENTENCES = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Splits blocks, such as paragraphs, into texts of at most `maxChars` characters (UTF-16 code units). Blocks stay whole
 * if they fit. A longer block is split at its lines and sentences, a block of code at its lines only, and a longer line
 * or sentence at a space, never inside a surrogate pair.
 */
export function* splitBlocks(blocks: Iterable<string>, maxChars: number): Generator<string> {
  let text = '';
  for (const block of blocks) {
    if (text !== '' && text.length + 2 + block.length <= maxChars) {
      text += `\n\n${block}`;
      continue;
    }
    if (text !== '') yield text;
    text = '';
    for (const part of splitBlock(block, maxChars)) {
      if (text !== '') yield text;
      text = part;
    }
  }
  if (text !== '') yield text;
}

function* splitBlock(block: string, maxChars: number): Generator<string> {
  let text = '';
  for (const piece of block.length <= maxChars ? [block] : splitPieces(block, maxChars)) {
    if (text.length + piece.length > maxChars && text !== '') {
      yield text.trimEnd();
      text = '';
    }
    text += piece;
  }
  if (text.trim() !== '') yield text.trimEnd();
}

function* splitPieces(block: string, maxChars: number): Generator<string> {
  for (const sentence of /^\s*(?:```|~~~)/.test(block) ? splitLines(block) : splitSentences(block)) {
    let rest = sentence;
    while (rest.length > maxChars) {
      const cut = cutText(rest, maxChars);
      const space = cut.lastIndexOf(' ');
      const piece = space > maxChars / 2 ? cut.slice(0, space + 1) : cut;
      yield piece;
      rest = rest.slice(piece.length);
    }
    yield rest;
  }
}

function* splitLines(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start);
    const next = end < 0 ? text.length : end + 1;
    yield text.slice(start, next);
    start = next;
  }
}

/** The segmenter ends a sentence at a line break too. */
function* splitSentences(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const window = cutText(text.slice(start), SEGMENTED_CHARS);
    let last = '';
    let length = 0;
    for (const { segment } of SENTENCES.segment(window)) {
      if (last !== '') yield last;
      length += last.length;
      last = segment;
    }
    // The last sentence may go on in the next window.
    const isEnd = start + window.length >= text.length || length === 0;
    if (isEnd) yield last;
    start += isEnd ? window.length : length;
  }
}
