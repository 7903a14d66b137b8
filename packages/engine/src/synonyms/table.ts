import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Synonym, Thesaurus } from '../core/ranking/query-terms.ts';

/*
 * A table of synonyms in bytes: how many terms there are and how many bytes they take (32 bits each, little-endian); the
 * terms, each ended by a line feed; for each term the places of its synonyms among the terms (16 bits each); and in the
 * same order how close they are (8 bits each), where 0 is no synonym. Every term has room for as many synonyms.
 */
const HEADER_BYTES = 8;
const MAX_CLOSENESS = 255;

/** Most synonyms of a term. */
export const MAX_SYNONYMS = 10;

/** Places of a term's synonyms, the closest first, and how close each is, from 0 to 1. */
export interface Neighbours {
  places: number[];
  closeness: number[];
}

/** @param terms at most 65,536, of ASCII letters */
export function packTable(terms: readonly string[], neighbours: readonly Neighbours[]): Uint8Array {
  const text = Buffer.from(terms.map((term) => `${term}\n`).join(''), 'ascii');
  const cells = terms.length * MAX_SYNONYMS;
  const bytes = Buffer.alloc(HEADER_BYTES + text.length + cells * 3);
  bytes.writeUInt32LE(terms.length, 0);
  bytes.writeUInt32LE(text.length, 4);
  text.copy(bytes, HEADER_BYTES);
  const places = HEADER_BYTES + text.length;
  for (const [term, { places: near, closeness }] of neighbours.entries()) {
    for (const [i, place] of near.slice(0, MAX_SYNONYMS).entries()) {
      const cell = term * MAX_SYNONYMS + i;
      bytes.writeUInt16LE(place, places + cell * 2);
      bytes.writeUInt8(Math.round((closeness[i] as number) * MAX_CLOSENESS), places + cells * 2 + cell);
    }
  }
  return bytes;
}

/** Synonyms by terms, as `packTable` left them. */
export class SynonymTable {
  readonly #terms: readonly string[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #view: DataView;
  readonly #cellsAt: number;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const count = this.#view.getUint32(0, true);
    this.#cellsAt = HEADER_BYTES + this.#view.getUint32(4, true);
    this.#terms = Buffer.from(bytes.subarray(HEADER_BYTES, this.#cellsAt)).toString('ascii').split('\n', count);
    this.#places = new Map(this.#terms.map((term, place) => [term, place]));
  }

  get terms(): readonly string[] {
    return this.#terms;
  }

  /** Returns the place of a term. They stand in the order of a vocabulary, which has the most frequent words first. */
  getRank(term: string): number | undefined {
    return this.#places.get(term);
  }

  /** The closest first. */
  getSynonyms(term: string): Synonym[] {
    const synonyms: Synonym[] = [];
    const first = (this.#places.get(term) ?? Number.NaN) * MAX_SYNONYMS;
    for (let cell = first; cell < first + MAX_SYNONYMS; cell++) {
      const closeness = this.#view.getUint8(this.#cellsAt + this.#terms.length * MAX_SYNONYMS * 2 + cell);
      if (closeness === 0) break;
      const place = this.#view.getUint16(this.#cellsAt + cell * 2, true);
      synonyms.push({ term: this.#terms[place] as string, closeness: closeness / MAX_CLOSENESS, rank: place });
    }
    return synonyms;
  }
}

let table: SynonymTable | undefined;

/**
 * English words and those nearest to them by the bundled model, from a file of the package that is read when a word is
 * first looked up; see build/make.ts.
 */
export const english: Thesaurus = {
  getSynonyms: (term) => getTable().getSynonyms(term),
  getRank: (term) => getTable().getRank(term),
};

function getTable(): SynonymTable {
  table ??= new SynonymTable(readFileSync(createRequire(import.meta.url).resolve('@memoryd/engine/synonyms/english')));
  return table;
}
