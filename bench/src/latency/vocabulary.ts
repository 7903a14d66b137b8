import { drawIndex, type Random } from '../random.ts';

/** Words of one kind, most frequent first. */
export type Words = readonly string[];

const words = (text: string): Words => text.trim().split(/\s+/);

export const PEOPLE = words(`
  Ada Bruno Clara Dmitri Elena Farid Greta Hugo Ines Jonas Katya Leo Mira Nils Olga Pavel Quentin Rosa Stefan Tara
  Umar Vera Walter Xenia Yusuf Zoe Amir Bella Carlos Dana Emil Freya
`);

export const THINGS = words(`
  house job car dog garden dinner book trip phone movie birthday meeting kitchen school project music weekend letter
  doctor game room picture coffee bike party holiday cat recipe train photo lesson ticket bread guitar table bag
  concert apartment class painting boat report lamp bus coat brother sister neighbour cousin uncle cake piano market
  hospital flight contract ring camera tent salary laptop window river soup museum wedding passport race chair mirror
  beach bakery exam village bill library jacket medicine tomato fence interview tree novel workshop snow keyboard
  festival blanket puzzle rent violin suitcase engine cheese lake engagement invoice balcony pottery allergy
  scholarship marathon greenhouse insurance podcast vaccine kayak quilt telescope orchard choir sourdough hammock
  surgery pension terrarium mosaic canoe saxophone beehive sculpture visa chessboard dentist knitting ferry lantern
  mortgage rehearsal compost unicycle aquarium yoghurt harvest chimney easel drone sauna manuscript origami banjo
  thermostat glacier lighthouse archery falcon locket kiln metronome accordion weathervane
`);

export const VERBS = words(`
  got made found bought saw finished started lost sold fixed missed moved changed loved forgot cleaned needed brought
  tried left painted borrowed planned showed cooked promised cancelled broke visited opened chose built ordered
  returned joined wrote carried described photographed repaired discussed enjoyed praised rented packed recorded
  recommended inherited sketched insured decorated measured postponed restored photocopied auctioned embroidered
  dismantled catalogued
`);

export const ADJECTIVES = words(`
  new old good little big nice small long whole red early cheap strange blue quiet late warm lovely green broken free
  heavy huge favourite empty cold yellow expensive famous second-hand wooden bright tiny loud sweet clean borrowed
  forgotten wonderful handmade noisy purple dusty gentle secret rusty elegant fragile spicy crooked antique foggy
  seaside waterproof striped gluten-free solar velvet
`);

export const TIMES = words(`
  yesterday today tonight lately again on-Monday last-week this-morning on-Friday next-month last-summer on-Sunday
  in-March at-noon last-year in-autumn on-Tuesday before-lunch in-October after-midnight in-1998 for-two-hours
  at-half-past-six in-early-December
`).map((time) => time.replaceAll('-', ' '));

const onsets = words('b d f g k l m n p r s t v z h');
const vowels = words('a e i o u');
const syllables = onsets.flatMap((onset) => vowels.map((vowel) => onset + vowel));
const NAME_COUNT = syllables.length ** 3;
// Coprime to the number of names, so that no two ranks share a name. Large, so that adjacent ranks have very different
// names.
const NAME_STEP = 48_271;

/**
 * Returns an invented name of three syllables. Such names represent the rare words of real dialogues: places, companies
 * and surnames.
 *
 * @param rank 0 to 421,874; each rank has a different name
 */
export function getInventedName(rank: number): string {
  const number = (rank * NAME_STEP) % NAME_COUNT;
  const { length } = syllables;
  const name = [number % length, Math.floor(number / length) % length, Math.floor(number / length ** 2)]
    .map((index) => syllables[index])
    .join('');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** Draws a rank, from 0 for the most frequent item. */
export type RankDraw = (random: Random) => number;

/**
 * Creates a source of ranks with the frequencies of words in natural text: proportional to 1 / (rank + 2.7) for ranks
 * from 1, Zipf's law in the form of Mandelbrot (1953).
 */
export function zipfRanks(count: number): RankDraw {
  const cumulative = new Float64Array(count);
  let total = 0;
  for (let rank = 0; rank < count; rank++) cumulative[rank] = total += 1 / (rank + 1 + 2.7);
  return (random) => {
    const target = random() * total;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((cumulative[middle] ?? 0) > target) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}

/** Creates a source of random words from a list, most frequent word first, with the frequencies of `zipfRanks`. */
export function zipfWords(list: Words): (random: Random) => string {
  const draw = zipfRanks(list.length);
  return (random) => list[draw(random)] ?? '';
}

/** Draws an integer from `min` to `max`, inclusive. */
export function between(random: Random, min: number, max: number): number {
  return min + drawIndex(random, max - min + 1);
}
