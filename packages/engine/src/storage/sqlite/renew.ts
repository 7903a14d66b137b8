import { ANALYZER_VERSION } from '../../core/text/analyze.ts';
import { lastVectors, modelOf, withVectors } from '../../recall-index/entry.ts';
import { type Connection, sql } from './connection.ts';
import { dimensionsByModel } from './models.ts';
import { freshEntry, noteChange, writeEntry } from './recall-entry.ts';

/** Raised when entries come to hold something else for the same text, or hold it elsewhere. */
const ENTRY_VERSION = 4;
const MADE_BY_PROPERTY = 'entries_made_by';
const MADE_BY = `entry ${ENTRY_VERSION}, analyzer ${ANALYZER_VERSION}`;

/** Memories whose entries are made anew between two looks at what is next. */
const MADE_AT_ONCE = 256;

/** Makes all entries anew, in one transaction, keeping their vectors, where other rules made them. */
export function renewEntries(connection: Connection): void {
  const madeBy = sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(MADE_BY_PROPERTY);
  if (madeBy === MADE_BY) return;
  connection
    .transaction(() => {
      const dimensions = dimensionsByModel(connection);
      const next = sql(
        connection,
        'SELECT ordinal, entry FROM recall_entry WHERE ordinal > ? ORDER BY ordinal LIMIT ?',
      ).raw();
      for (let last = 0, some = nextSome(0); some.length > 0; some = nextSome(last)) {
        for (const [ordinal, entry] of some) renewEntry(connection, ordinal, entry, dimensions);
        last = (some.at(-1) as [number, Buffer])[0];
      }
      sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
        MADE_BY_PROPERTY,
        MADE_BY,
      );
      function nextSome(after: number): [ordinal: number, entry: Buffer][] {
        return next.all(after, MADE_AT_ONCE) as [number, Buffer][];
      }
    })
    .immediate();
}

// The entry may be of another layout than present ones.
function renewEntry(
  connection: Connection,
  ordinal: number,
  entry: Buffer,
  dimensions: ReadonlyMap<number, number>,
): void {
  const model = modelOf(entry);
  const vectors = lastVectors(entry, dimensions.get(model) ?? 0);
  const renewed = freshEntry(connection, ordinal, noteChange(connection, ordinal));
  writeEntry(connection, ordinal, withVectors(renewed, model, vectors));
}
