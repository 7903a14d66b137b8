import { isAboutPerson, isAboutUser } from './about-user.ts';
import { hasChange } from './change-words.ts';
import { fold } from './fold.ts';
import { hasNoStatement } from './statement.ts';

/** Value in the column `speakers` for a memory that names no speaker. */
export const NO_SPEAKER = 0;

/** Properties of a text that ranking uses in addition to its terms. */
export interface Traits {
  /** Name of the speaker: from a tag, or else the text before a colon at the beginning; empty if there is none. */
  speakerName: string;
  /** A number for the speaker, independent of case and accents; NO_SPEAKER if there is none. */
  speaker: number;
  /** Bits of `MARKS`. */
  marks: number;
}

/** Flags of a text, as bits. */
export const MARKS = {
  /** The text ends with a question mark, of any script. */
  question: 1,
  /** The beginning of the text contains a lasting instruction; see `hasInstruction`. */
  instruction: 2,
  /** The beginning of the text states a preference; see `hasPreference`. */
  preference: 4,
  /** The text states nothing; see `hasNoStatement`. */
  noStatement: 8,
  /** The beginning of the text tells a change; see `hasChange`. */
  change: 16,
  /** The beginning of the text is about the user, by whom or for whom it was stored; see `isAboutUser`. */
  aboutUser: 32,
  /** The text is about a person or an animal of the user; see `isAboutPerson`. */
  aboutPerson: 64,
} as const;

/** Maximum length of a speaker's name in UTF-16 units. */
const MAX_NAME_CHARS = 40;
const NAME = new RegExp(`^[\\p{L}\\p{N}][^\\n:：.?!,;]{0,${MAX_NAME_CHARS - 1}}(?=[:：]\\s)`, 'u');
/** A question mark of any script, followed only by closing punctuation and remarks in brackets. */
const QUESTION_END = /[?\uff1f\u061f\u2e2e\u037e\u055e\u1367\u203d\u2047-\u2049]["'”’»)\]\s]*(?:\[[^[\]]*\]\s*)*$/u;

/** Maximum UTF-16 units that are examined at the beginning or the end. A long text contains "never" somewhere. */
const MAX_EXAMINED_CHARS = 400;

/** The names of a speaker who is the user. */
const USER = /^(?:user|human|me)$/i;

/** Prefix of a tag that names the speaker, such as `role:user`; `@memoryd/client` adds these tags to messages. */
export const ROLE_TAG = 'role:';

/** Returns the name of the speaker: from a tag, or else the text before a colon at the beginning; empty if there is none. */
export function getSpeakerName(text: string, tags: readonly string[]): string {
  return findRole(tags) || getLabel(text);
}

/** Returns true if a text ends with a question mark, of any script. */
export function endsWithQuestion(text: string): boolean {
  return QUESTION_END.test(text.slice(-MAX_EXAMINED_CHARS));
}

export function readTraits(text: string, tags: readonly string[]): Traits {
  const name = getSpeakerName(text, tags);
  return {
    speakerName: name,
    speaker: name === '' ? NO_SPEAKER : hashName(name),
    marks: getMarks(text, name),
  };
}

/** Returns the name before a colon at the beginning of a text; empty if there is none. */
export function getLabel(text: string): string {
  return NAME.exec(text.slice(0, MAX_NAME_CHARS + 2))?.[0] ?? '';
}

function findRole(tags: readonly string[]): string | undefined {
  return tags
    .find((tag) => tag.startsWith(ROLE_TAG))
    ?.slice(ROLE_TAG.length)
    .trim();
}

function getMarks(text: string, speaker: string): number {
  const question = endsWithQuestion(text) ? MARKS.question : 0;
  const instruction = hasInstruction(text) ? MARKS.instruction : 0;
  const preference = hasPreference(text) ? MARKS.preference : 0;
  const noStatement = hasNoStatement(text.slice(getLabel(text).length), speaker) ? MARKS.noStatement : 0;
  const change = hasChange(text) ? MARKS.change : 0;
  return (
    question | instruction | preference | noStatement | change | getSubject(text.slice(0, MAX_EXAMINED_CHARS), speaker)
  );
}

/** Returns the mark for whom a text is about; 0 if unknown. */
function getSubject(text: string, speaker: string): number {
  // The text before the colon is another speaker or, as in "Passport number: R2086", the thing itself.
  if (speaker !== '' && !USER.test(speaker)) return 0;
  if (isAboutUser(text)) return MARKS.aboutUser;
  return isAboutPerson(text) ? MARKS.aboutPerson : 0;
}

/** Returns a hash of a name, at least 1 (FNV-1a, Fowler, Noll and Vo). */
function hashName(name: string): number {
  let number = 0x811c9dc5;
  for (const unit of fold(name)) number = Math.imul(number ^ (unit.codePointAt(0) as number), 0x01000193);
  return number >>> 0 || 1;
}

/** Words after "always" and "never" that show something other than an instruction: news, thanks and cheers. */
const NOT_INSTRUCTION =
  'an?|the|been|had|saw|was|were|here|there|up|mind|again|too|so|in|at|on|happy|glad|good|great|nice|say|give';
const INSTRUCTION = new RegExp(
  `(?:^|[.!?:\\n])["'”’)*\\s-]{0,8}(?:please,? )?(?:always|never)\\s(?!(?:${NOT_INSTRUCTION})\\b)\\w`,
  'i',
);
const LASTING_REQUEST = /\b(?:from now on|when(?:ever)? I ask)\b/i;
const PREFERENCE = /\b(?:I(?: \w+)? prefer|prefers|(?:I['’]d|(?<!you )would) rather|(?:always|never) wants?)\b/i;

/** Returns true if the first `MAX_EXAMINED_CHARS` of a text contain a lasting instruction. English only. */
export function hasInstruction(text: string): boolean {
  const beginning = text.slice(0, MAX_EXAMINED_CHARS);
  return INSTRUCTION.test(beginning) || LASTING_REQUEST.test(beginning);
}

/** Returns true if the first `MAX_EXAMINED_CHARS` of a text state a preference. English only. */
export function hasPreference(text: string): boolean {
  return PREFERENCE.test(text.slice(0, MAX_EXAMINED_CHARS));
}
