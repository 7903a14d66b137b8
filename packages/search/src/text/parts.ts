import { fold } from './fold.ts';
import { HAN } from './han.ts';
import { toWord } from './word.ts';

/** Prefixes and endings that the languages of a script attach to words. */
interface Affixes {
  letter: RegExp;
  prefixes: readonly string[];
  endings: readonly string[];
  /** Minimum UTF-16 units of a word to which affixes are attached. */
  minUnits: number;
}

function createAffixes(letter: RegExp, minUnits: number, affixes: { prefixes: string; endings: string }): Affixes {
  const split = (list: string) => [...new Set(list.trim().split(/\s+/).map(fold))].filter((affix) => affix !== '');
  return { letter, minUnits, prefixes: split(affixes.prefixes), endings: split(affixes.endings) };
}

const AFFIXES: readonly Affixes[] = [
  createAffixes(/^\p{sc=Hebrew}/u, 3, {
    prefixes: 'ה ב ל מ ו ש כ וה וב ול ומ וש וכ שה שב של שמ מה בה לה כש כשה ושה',
    endings: 'ים ות',
  }),
  // Prefixes of Arabic, then endings of Persian and of Urdu.
  createAffixes(/^\p{sc=Arabic}/u, 2, {
    prefixes: 'ال و ب ل ف ك لل وال بال فال كال ول وب ولل',
    endings: `ها های ی م هایی هایم هایت هایش ای ت ش ام ات اش مان تان شان ان هایمان انم انت انش
      وں یں ے ا ہ یاں یوں ئیں`,
  }),
  createAffixes(/^\p{sc=Bengali}/u, 2, {
    prefixes: '',
    endings: `র ের কে তে টা টি গুলো গুলি রা েরা এর ে য় য়ের দের েরকে দেরকে টার টির টাকে টিকে টাতে টিতে গুলোর গুলির গুলোকে
      গুলোতে খানা খানি ও ই`,
  }),
];

/** Maximum terms of a word's parts. */
const MAX_PART_TERMS = 96;

/**
 * Returns what to search besides a folded word: words that contain a part of it. Each word is a list of
 * alternative terms. For two Han characters, the result has a word for each character. For a word of a script whose
 * languages attach affixes that no stemmer here removes, the result is one word: its forms without affixes, then its
 * forms with other affixes, at most 96 terms.
 */
export function getParts(folded: string): string[][] {
  const letters = [...folded];
  if (letters.some((letter) => HAN.test(letter))) {
    return letters.length > 1 ? letters.filter((letter) => HAN.test(letter)).map((letter) => [letter]) : [];
  }
  const affixes = AFFIXES.find(({ letter }) => letter.test(folded));
  if (affixes === undefined || folded.length < affixes.minUnits) return [];
  const terms = new Set<string>();
  for (const form of getForms(folded, affixes)) {
    const [whole] = toWord(form).terms;
    if (whole?.counts) terms.add(whole.text);
    if (terms.size === MAX_PART_TERMS) break;
  }
  return terms.size > 0 ? [[...terms]] : [];
}

/** Returns the forms of a word: first without affixes, then these and the word itself with each affix. */
function getForms(word: string, { prefixes, endings, minUnits }: Affixes): string[] {
  const withoutEnding = endings
    .filter((ending) => word.endsWith(ending) && word.length - ending.length >= minUnits)
    .map((ending) => word.slice(0, -ending.length));
  const bases = [word, ...withoutEnding].flatMap((base) => [
    base,
    ...prefixes
      .filter((prefix) => base.startsWith(prefix) && base.length - prefix.length >= MIN_UNITS_AFTER_PREFIX)
      .map((prefix) => base.slice(prefix.length)),
  ]);
  const extended = bases.flatMap((base) => [
    ...prefixes.map((prefix) => prefix + base),
    ...endings.map((ending) => base + ending),
  ]);
  return [...bases, ...extended];
}

/** Minimum UTF-16 units of a word without its prefix: the first letter of a shorter word is usually its own. */
const MIN_UNITS_AFTER_PREFIX = 3;
