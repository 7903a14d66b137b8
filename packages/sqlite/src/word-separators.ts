import { type Connection, sql } from './connection.ts';

/*
 * FTS5's `secure-delete` removes terms from the leaf pages of the full-text index `word_index`. Forgotten words would
 * remain in two places:
 *
 * - Separators. For each leaf page but the first of a segment, the table `word_index_idx` has the beginning of its first
 *   term that differs from the term before, or all of the term. It stays when the term is removed. A separator may be any
 *   text that is greater than the terms before the page and not greater than its first term. So it is replaced by a
 *   beginning of the term that is now the first.
 * - Merged segments. While segments are merged in steps, the last pages of a segment whose terms have all been copied
 *   stay until the last step, and nothing reads them. So they are deleted.
 */

/** Row id of the structure of the index in `word_index_data`. */
const STRUCTURE_ID = 10;

/** Offset in the structure of its first number. */
const STRUCTURE_START = 4;

/** Lengths of the beginnings that `word_index` has in indexes of their own, in characters. See `prefix` in the schema. */
const BEGINNINGS = [5, 6, 7];

/** Factor of the segment number in the row id of a leaf page (`FTS5_SEGMENT_ROWID` of SQLite's source). */
const SEGMENT_FACTOR = 2 ** 37;

/** Offset in a leaf page of the offset of its footer, which begins with the offset of the first term. */
const FOOTER_OFFSET = 2;

/** Makes a connection note the words that leave the index. Must be called before the connection writes. */
export function followGoneWords(connection: Connection): void {
  connection.exec(`
    CREATE TEMP TABLE IF NOT EXISTS gone_words (words TEXT NOT NULL) STRICT;
    CREATE TEMP TRIGGER IF NOT EXISTS words_are_gone AFTER DELETE ON main.memory_words BEGIN
      INSERT INTO gone_words VALUES (old.words);
    END`);
}

/**
 * Removes the words that have left the index since the last call from its separators and merged segments. Must be called
 * in the transaction that deleted them, before its end.
 */
export function clearSeparators(connection: Connection): void {
  const gone = sql(connection, 'SELECT words FROM temp.gone_words').pluck().all() as string[];
  if (gone.length === 0) return;
  sql(connection, `INSERT INTO word_index (word_index) VALUES ('flush')`).run();
  const segments = getSegments(connection);
  for (const { id, isMerged } of segments) if (isMerged && hasPages(connection, id)) deletePages(connection, id);
  const unmerged = segments.filter(({ isMerged }) => !isMerged);
  for (const term of getTerms(gone)) {
    for (const { id } of unmerged) clearSeparator(connection, id, Buffer.from(term));
  }
  sql(connection, 'DELETE FROM temp.gone_words').run();
}

/** Returns the terms of `word_index` of some values of `memory_words.words`. Each begins with the number of its index. */
function getTerms(texts: readonly string[]): Set<string> {
  const terms = new Set<string>();
  for (const [, word] of texts.join(' ').matchAll(/'([^']+)'/g) as Iterable<[string, string]>) {
    terms.add(`0${word}`);
    const characters = [...word];
    for (const [i, length] of BEGINNINGS.entries()) {
      if (characters.length >= length) terms.add(`${i + 1}${characters.slice(0, length).join('')}`);
    }
  }
  return terms;
}

interface Segment {
  id: number;
  /** True if a merge that has not ended has copied all terms. */
  isMerged: boolean;
}

/** Reads the structure of the index (`fts5StructureDecode` of SQLite's source). */
function getSegments(connection: Connection): Segment[] {
  const structure = sql(connection, 'SELECT block FROM word_index_data WHERE id = ?')
    .pluck()
    .get(STRUCTURE_ID) as Buffer;
  let at = STRUCTURE_START;
  const next = () => {
    const [value, end] = readVarint(structure, at);
    at = end;
    return value;
  };
  const [levels] = [next(), next(), next()];
  return Array.from({ length: levels }, () => {
    const [, count] = [next(), next()];
    return Array.from({ length: count }, () => {
      const [id, firstPage] = [next(), next(), next()];
      return { id, isMerged: firstPage === 0 };
    });
  }).flat();
}

function hasPages(connection: Connection, segment: number): boolean {
  return sql(connection, 'SELECT 1 FROM word_index_idx WHERE segid = ?').get(segment) !== undefined;
}

function deletePages(connection: Connection, segment: number): void {
  const [from, until] = [segment * SEGMENT_FACTOR, (segment + 1) * SEGMENT_FACTOR];
  write(connection, 'DELETE FROM word_index_data WHERE id >= ? AND id < ?', from, until);
  write(connection, 'DELETE FROM word_index_idx WHERE segid = ?', segment);
}

/**
 * Writes a table of FTS5, which SQLite permits only in the mode without protection. Changes of the mode make SQLite
 * prepare all statements of the connection again, so the mode is used only when there is something to write.
 */
function write(connection: Connection, text: string, ...values: readonly unknown[]): void {
  connection.unsafeMode(true);
  try {
    sql(connection, text).run(...values);
  } finally {
    connection.unsafeMode(false);
  }
}

/** Replaces the separator of the page that had the term if it comes from the term. */
function clearSeparator(connection: Connection, segment: number, term: Buffer): void {
  const found = sql(
    connection,
    'SELECT term, pgno >> 1 FROM word_index_idx WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1',
  )
    .raw()
    .get(segment, term) as [separator: Buffer, page: number] | undefined;
  if (!found) return;
  const [separator, page] = found;
  if (!startsWith(term, separator)) return;
  const first = getFirstTerm(connection, segment, page);
  if (first && startsWith(first, separator)) return;
  // A merge has moved the terms of a page without a term. FTS5 ignores its separator.
  if (!first) write(connection, 'DELETE FROM word_index_idx WHERE segid = ? AND term = ?', segment, separator);
  else {
    const differs = first.findIndex((byte, i) => byte !== separator[i]);
    const beginning = first.subarray(0, differs + 1);
    write(connection, 'UPDATE word_index_idx SET term = ? WHERE segid = ? AND term = ?', beginning, segment, separator);
  }
}

function startsWith(term: Buffer, beginning: Buffer): boolean {
  return term.subarray(0, beginning.length).equals(beginning);
}

/**
 * Returns the first term of a leaf page; undefined if the page has none. FTS5 stores the first term of a page in full, not
 * as a suffix of the term before.
 */
function getFirstTerm(connection: Connection, segment: number, page: number): Buffer | undefined {
  const leaf = sql(connection, 'SELECT block FROM word_index_data WHERE id = ?')
    .pluck()
    .get(segment * SEGMENT_FACTOR + page) as Buffer | undefined;
  const footer = leaf?.readUInt16BE(FOOTER_OFFSET);
  if (!leaf || footer === undefined || footer === leaf.length) return undefined;
  const [offset] = readVarint(leaf, footer);
  const [length, start] = readVarint(leaf, offset);
  return leaf.subarray(start, start + length);
}

/** Reads an integer of up to eight bytes (sqlite.org/fileformat2.html, section 1.6). Returns it and the offset after it. */
function readVarint(bytes: Buffer, start: number): [value: number, end: number] {
  let value = 0;
  for (let at = start; ; at++) {
    const byte = bytes.readUInt8(at);
    value = value * 128 + (byte & 127);
    if (byte < 128) return [value, at + 1];
  }
}
