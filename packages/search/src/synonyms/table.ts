import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Synonym, Thesaurus } from '../ranking/query-terms.ts';

/*
 * Binary format of a synonym table: the number of terms and their size in bytes (32 bits each, little-endian); the
 * terms, each followed by a line feed; the places of each term's synonyms among the terms (16 bits each); and in the
 * same order their closeness (8 bits each), where 0 means no synonym. Every term has the same number of slots.
 */
const HEADER_BYTES = 8;
const MAX_CLOSENESS = 255;

/** Maximum synonyms of a term. */
export const MAX_SYNONYMS = 10;

/** Indexes of a term's synonyms in the list of terms, closest first, and the closeness of each synonym, from 0 to 1. */
export interface Neighbors {
  places: number[];
  closeness: number[];
}

/**
 * Packs a synonym table.
 *
 * @param terms at most 65,536 terms, each of ASCII letters
 */
export function packTable(terms: readonly string[], neighbors: readonly Neighbors[]): Uint8Array {
  const text = Buffer.from(terms.map((term) => `${term}\n`).join(''), 'ascii');
  const cells = terms.length * MAX_SYNONYMS;
  const bytes = Buffer.alloc(HEADER_BYTES + text.length + cells * 3);
  bytes.writeUInt32LE(terms.length, 0);
  bytes.writeUInt32LE(text.length, 4);
  text.copy(bytes, HEADER_BYTES);
  const places = HEADER_BYTES + text.length;
  for (const [term, { places: near, closeness }] of neighbors.entries()) {
    for (const [i, place] of near.slice(0, MAX_SYNONYMS).entries()) {
      const cell = term * MAX_SYNONYMS + i;
      bytes.writeUInt16LE(place, places + cell * 2);
      bytes.writeUInt8(Math.round((closeness[i] as number) * MAX_CLOSENESS), places + cells * 2 + cell);
    }
  }
  return bytes;
}

/** Reads a table written by `packTable`. */
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

  /** Returns the rank of a term by word frequency, starting at 0, or undefined for an unknown term. */
  getRank(term: string): number | undefined {
    return this.#places.get(term);
  }

  /** Returns the synonyms of a term, closest first; an empty array for an unknown term. */
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
 * English synonyms, computed with the bundled embedding model. The table file, which build/make.ts writes, is loaded on
 * first use.
 */
export const english: Thesaurus = {
  getSynonyms: (term) => getTable().getSynonyms(term),
  getRank: (term) => getTable().getRank(term),
};

function getTable(): SynonymTable {
  table ??= new SynonymTable(readFileSync(createRequire(import.meta.url).resolve('@memoryd/search/synonyms/english')));
  return table;
}
