import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Thesaurus } from '../core/ranking/query-terms.ts';
import { SynonymTable } from './table.ts';

let table: SynonymTable | undefined;

/**
 * English words and those nearest to them by the bundled model, from a file of the package that is read when a word is
 * first looked up; see build/make.ts.
 */
export const english: Thesaurus = {
  synonymsOf(term) {
    table ??= new SynonymTable(
      readFileSync(createRequire(import.meta.url).resolve('@memoryd/engine/synonyms/english')),
    );
    return table.synonymsOf(term);
  },
};
