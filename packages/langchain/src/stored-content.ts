import type { MessageContent } from '@langchain/core/messages';

/** A content part in metadata. A text part has the length of its text, in UTF-16 code units, instead of the text. */
type StoredPart = { type: string; text?: unknown };

/**
 * Returns the message content to store in metadata, without texts that the memory already contains: undefined if the
 * content is equal to `text`; for a list of parts whose joined texts are equal to `text`, the parts with the lengths of
 * their texts. Any other content is returned unchanged.
 *
 * @param text content of the memory
 */
export function removeTexts(content: MessageContent, text: string): unknown {
  if (typeof content === 'string') return content === text ? undefined : content;
  const texts = content.map((part) => (isText(part) ? part.text : ''));
  if (texts.join('') !== text) return content;
  return content.map((part) => (isText(part) ? { ...part, text: part.text.length } : part));
}

/**
 * Restores the message content from metadata and the content of the memory. If the memory was changed, the last text
 * part receives the rest of the text.
 */
export function restoreTexts(stored: unknown, text: string): MessageContent {
  if (stored === undefined || stored === null) return text;
  if (!Array.isArray(stored)) return stored as MessageContent;
  const last = stored.findLastIndex(isLength);
  let end = 0;
  return stored.map((part, index) => {
    if (!isLength(part)) return part;
    const start = end;
    end += part.text;
    return { ...part, text: text.slice(start, index === last ? undefined : end) };
  });
}

function isText(part: StoredPart): part is StoredPart & { text: string } {
  return part.type === 'text' && typeof part.text === 'string';
}

function isLength(part: StoredPart): part is StoredPart & { text: number } {
  return part.type === 'text' && typeof part.text === 'number';
}
