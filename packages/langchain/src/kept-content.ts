import type { MessageContent } from '@langchain/core/messages';

/** A part of a content as it is kept: of a text its length, in UTF-16 units. */
type KeptPart = { type: string; text?: unknown };

/**
 * What is kept of a content beside its text: nothing where it is that, and of a list all but its texts, which are kept but
 * once.
 *
 * @param said the text that the memory has
 */
export function withoutTexts(content: MessageContent, said: string): unknown {
  if (typeof content === 'string') return content === said ? undefined : content;
  const texts = content.map((part) => (isText(part) ? part.text : ''));
  if (texts.join('') !== said) return content;
  return content.map((part) => (isText(part) ? { ...part, text: part.text.length } : part));
}

/** A content again. Where the memory's text has been changed since, the last of the texts is what the others leave. */
export function withTexts(kept: unknown, said: string): MessageContent {
  if (kept === undefined) return said;
  if (!Array.isArray(kept)) return kept as MessageContent;
  const last = kept.findLastIndex(isLength);
  let from = 0;
  return kept.map((part, place) => {
    if (!isLength(part)) return part;
    const start = from;
    from += part.text;
    return { ...part, text: said.slice(start, place === last ? undefined : from) };
  });
}

function isText(part: KeptPart): part is KeptPart & { text: string } {
  return part.type === 'text' && typeof part.text === 'string';
}

function isLength(part: KeptPart): part is KeptPart & { text: number } {
  return part.type === 'text' && typeof part.text === 'number';
}
