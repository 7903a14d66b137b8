import { createRandom, drawItem, type Random } from '../random.ts';
import { type Dialogue, getSession, MAX_WORDS, MIN_WORDS } from './dialogue.ts';
import {
  ADJECTIVES,
  between,
  getInventedName,
  PEOPLE,
  THINGS,
  TIMES,
  VERBS,
  zipfRanks,
  zipfWords,
} from './vocabulary.ts';

/** About the number of out-of-vocabulary words in 100,000 turns of real dialogue. */
const INVENTED_NAMES = 40_000;

const nameRank = zipfRanks(INVENTED_NAMES);
const draws: Record<string, (random: Random) => string> = {
  person: zipfWords(PEOPLE),
  thing: zipfWords(THINGS),
  did: zipfWords(VERBS),
  quality: zipfWords(ADJECTIVES),
  time: zipfWords(TIMES),
  name: (random) => getInventedName(nameRank(random)),
  number: (random) => String(between(random, 2, 90)),
};

const OPENERS = [
  'Hey!',
  'Oh,',
  'Well,',
  'Honestly,',
  'Wow,',
  'Yes,',
  'No,',
  'You know,',
  'Thanks!',
  'Sorry,',
  'Right,',
];

const CLAUSES = [
  'I {did} the {quality} {thing} with {person} {time}',
  'we {did} a {thing} near {name} {time} and it took {number} minutes',
  'my {thing} is from {name}, and {person} says it is too {quality}',
  '{person} {did} my {thing} before the {thing} in {name}',
  'do you remember the {quality} {thing} that {person} {did} {time}?',
  'I still have to tell {person} about the {thing} and the {thing}',
  'it cost {number} at {name}, so we {did} a {quality} one instead',
  'what happened to the {thing} you {did} in {name}?',
  'they {did} {number} of them because the {thing} was {quality}',
  'I think {person} {name} {did} it {time}, not me',
  'that {quality} {thing} reminds me of {name}',
  'we should see the {thing} together, maybe {time}',
];

/** Creates a dialogue from word lists and sentence templates. The seed determines every word. */
export function createGeneratedDialogue(seed: number): Dialogue {
  return {
    turn(index) {
      const session = getSession(index);
      const speakers = getSpeakers(createRandom(seed, 1, session));
      const text = generateText(createRandom(seed, 2, index));
      return { content: `${speakers[index % 2]}: ${text}`, sessionId: `session-${session}` };
    },
  };
}

function getSpeakers(random: Random): [string, string] {
  const first = between(random, 0, PEOPLE.length - 1);
  const second = (first + between(random, 1, PEOPLE.length - 1)) % PEOPLE.length;
  return [PEOPLE[first] ?? '', PEOPLE[second] ?? ''];
}

function generateText(random: Random): string {
  const wordCount = between(random, MIN_WORDS, MAX_WORDS);
  const words = random() < 0.4 ? drawItem(random, OPENERS).split(' ') : [];
  while (words.length < wordCount) {
    if (words.length > 0 && !/[!?,]$/.test(words.at(-1) ?? '')) words.push(random() < 0.5 ? 'and' : 'but');
    words.push(...fillClause(drawItem(random, CLAUSES), random).split(' '));
  }
  return words.slice(0, wordCount).join(' ');
}

function fillClause(clause: string, random: Random): string {
  return clause.replace(/\{(\w+)\}/g, (_, kind: string) => draws[kind]?.(random) ?? '');
}
