/*
 * Whether a text or a question is about the user, by whom or for whom memories are stored, rather than about somebody
 * whom the user knows. English only.
 */

/** Persons and animals of the user: "my sister" is somebody else. */
const OTHERS = [
  'sister|brother|siblings?|mother|father|mum|mom|dad|parents?|son|daughter|kids?|child|children|baby|twins?|family',
  'wife|husband|partner|spouse|girlfriend|boyfriend|fianc[ée]e?|ex|uncle|aunt|cousin|nephew|niece|in-laws',
  'grand\\w+|great-\\w+|step\\w+|god\\w+|half-\\w+|\\w+-in-law',
  'friends?|mate|flatmate|roommate|neighbou?rs?|colleagues?|coworkers?|boss|manager|team|teacher|coach|doctor|dentist',
  'landlord|landlady|client|dog|cat|horse|pet|rabbit|parrot',
].join('|');

/** A person of the user, of whom one word may tell more: "my younger sister". */
const PERSON = `(?:[\\w-]+ )?(?:${OTHERS})\\b`;

/** Words before "I" at the beginning of a sentence. After any other word in capitals, "I" is a numeral: "World War I". */
const BEFORE_I =
  'Yesterday|Today|Now|So|And|But|When|While|If|Since|Because|After|Before|Maybe|Also|Then|\\p{Lu}\\p{Ll}+ly';

const IS_ABOUT = new RegExp(
  [
    `(?:(?<!\\p{Lu}\\p{L}*\\s)|(?<=\\b(?:${BEFORE_I})\\s))\\bI(?:['’](?:m|ve|d|ll))?\\s\\p{Ll}`,
    `\\b[Tt]he user\\s`,
    `^User\\s`,
    `(?:^|[.!?:]\\s)(?:My|my|The user['’]s) (?!name\\b|${PERSON})`,
  ].join('|'),
  'u',
);

const ASKS = new RegExp(
  [
    `\\b(?:do|does|did|am|is|are|was|were|have|has|had|can|could|should|will|would|may) (?:i|the user)\\b(?!['’])`,
    `\\b(?:what|which|where|when|who|how)\\b.*\\b(?:i|the user) \\w`,
    `\\b(?:is|are|was|['’]s) (?:my|the user['’]s) `,
  ].join('|'),
  'iu',
);
const ASKS_FOR_PERSON = new RegExp(`\\b(?:my|the user['’]s) ${PERSON}`, 'iu');

/** Returns true if a text says something about the user, such as "I live in Porto". */
export function isAboutUser(text: string): boolean {
  return IS_ABOUT.test(text);
}

/**
 * A person of the user as the subject: "My sister lives", "Dario, our friend, repairs". A name alone may be the user's,
 * as "she" and "he" may be the user.
 */
const IS_ABOUT_PERSON = new RegExp(`^(?:\\p{Lu}[\\p{L}-]+, )?(?:[Mm]y|[Oo]ur|[Tt]he user['’]s) ${PERSON}`, 'u');

/** Returns true if a text begins with a person or an animal of the user, such as "My sister lives in Faro". */
export function isAboutPerson(text: string): boolean {
  return IS_ABOUT_PERSON.test(text);
}

/** Returns true if a query asks for something about the user, such as "where do I live?". */
export function asksAboutUser(query: string): boolean {
  return ASKS.test(query) && !ASKS_FOR_PERSON.test(query);
}
