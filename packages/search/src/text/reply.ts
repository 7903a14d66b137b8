import { fold } from './fold.ts';
import { hasNoStatement } from './statement.ts';
import { endsWithQuestion, getLabel, getSpeakerName } from './traits.ts';

/** The parts of a memory that tell who says what. */
interface Turn {
  content: string;
  tags: readonly string[];
}

/** Maximum words, and UTF-16 units for languages without blanks between words, of a reply that depends on its question. */
const MAX_REPLY_WORDS = 14;
const MAX_REPLY_CHARS = 120;

/** Returns true if a text states nothing: it only asks, thanks or agrees, or says that the answer is unknown. */
export function statesNothing({ content, tags }: Turn): boolean {
  return hasNoStatement(content.slice(getLabel(content).length), getSpeakerName(content, tags));
}

/** Returns true if a turn may be a reply that is understood only with the question before it: it is short. */
export function mayNeedQuestion({ content, tags }: Turn): boolean {
  const isShort = content.length <= MAX_REPLY_CHARS && content.trim().split(/\s+/).length <= MAX_REPLY_WORDS;
  return isShort && getSpeakerName(content, tags) !== '';
}

/** Returns true if a turn is a question of another speaker than that of the reply. */
export function asksFor(reply: Turn, before: Turn): boolean {
  const speaker = fold(getSpeakerName(before.content, before.tags));
  return (
    endsWithQuestion(before.content) && speaker !== '' && speaker !== fold(getSpeakerName(reply.content, reply.tags))
  );
}
