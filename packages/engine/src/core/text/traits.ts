import { NO_SPEAKER } from '../../ports/storage-search.ts';
import { fold } from './fold.ts';

/** What ranking needs to know of a text besides its terms. */
export interface Traits {
  /** Who speaks, as a tag says, or else what stands before the first colon; empty where neither names anybody. */
  speakerName: string;
  /** A number that stands for the name, however it is cased or accented; NO_SPEAKER where there is none. */
  speaker: number;
  /** Bits of `MARKS`. */
  marks: number;
}

/** One bit each. */
export const MARKS = {
  /** The text ends with a question mark, of any script. */
  question: 1,
  /** The text begins with an instruction that stands. */
  instruction: 2,
  /** The text begins with a preference. */
  preference: 4,
} as const;

/** Longest name of a speaker, in UTF-16 units. */
const MAX_NAME_CHARS = 40;
const NAME = new RegExp(`^[\\p{L}\\p{N}][^\\n:：.?!,;]{0,${MAX_NAME_CHARS - 1}}(?=[:：]\\s)`, 'u');
/** A question mark of any script that nothing follows but what closes it, and remarks in brackets. */
const ASKS = /[?\uff1f\u061f\u2e2e\u037e\u055e\u1367\u203d\u2047-\u2049]["'”’»)\]\s]*(?:\[[^[\]]*\]\s*)*$/u;

/** UTF-16 units that are looked at, from the end or the beginning: a long text says "never" somewhere. */
const LOOKED_AT = 400;

/** What a tag begins with that says who speaks, such as `role:user`; messages of `@memoryd/client` have it. */
export const ROLE_TAG = 'role:';

export function readTraits(text: string, tags: readonly string[]): Traits {
  const name = roleIn(tags) || getLabel(text);
  return {
    speakerName: name,
    speaker: name === '' ? NO_SPEAKER : nameNumber(name),
    marks: getMarks(text),
  };
}

/** The name that a text begins with, before a colon; empty where it begins with none. */
export function getLabel(text: string): string {
  return NAME.exec(text.slice(0, MAX_NAME_CHARS + 2))?.[0] ?? '';
}

function roleIn(tags: readonly string[]): string | undefined {
  return tags
    .find((tag) => tag.startsWith(ROLE_TAG))
    ?.slice(ROLE_TAG.length)
    .trim();
}

function getMarks(text: string): number {
  const question = ASKS.test(text.slice(-LOOKED_AT)) ? MARKS.question : 0;
  const instruction = instructs(text) ? MARKS.instruction : 0;
  return question | instruction | (prefers(text) ? MARKS.preference : 0);
}

/** From 1 (FNV-1a, Fowler, Noll and Vo). */
function nameNumber(name: string): number {
  let number = 0x811c9dc5;
  for (const unit of fold(name)) number = Math.imul(number ^ (unit.codePointAt(0) as number), 0x01000193);
  return number >>> 0 || 1;
}

/** What "always" and "never" begin besides an instruction: news, thanks and cheers. */
const NO_INSTRUCTION =
  'an?|the|been|had|saw|was|were|here|there|up|mind|again|too|so|in|at|on|happy|glad|good|great|nice|say|give';
const INSTRUCTS = new RegExp(
  `(?:^|[.!?:\\n])["'”’)*\\s-]{0,8}(?:please,? )?(?:always|never)\\s(?!(?:${NO_INSTRUCTION})\\b)\\w`,
  'i',
);
const INSISTS = /\b(?:from now on|when(?:ever)? I ask)\b/i;
const PREFERS = /\b(?:I(?: \w+)? prefer|prefers|(?:I['’]d|(?<!you )would) rather|(?:always|never) wants?)\b/i;

/** Whether a text says what is to be done from now on. In English alone. */
export function instructs(text: string): boolean {
  const beginning = text.slice(0, LOOKED_AT);
  return INSTRUCTS.test(beginning) || INSISTS.test(beginning);
}

/** Whether a text says what somebody likes better. In English alone. */
export function prefers(text: string): boolean {
  return PREFERS.test(text.slice(0, LOOKED_AT));
}
