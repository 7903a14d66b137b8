import type { Page, PageRequest } from '../ports/page.ts';
import type { ChangeDetails, ChangeKind, RunChange, RunRef } from '../ports/storage-runs.ts';
import { fromJson } from './damage.ts';
import { takePage } from './page.ts';
import { FIXED_FIELDS_BYTES } from './run-row.ts';

/** What a run did to a memory. Never holds a text. */
export interface NewChange<Kind extends ChangeKind> {
  kind: Kind;
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** A change that is to be taken back. */
export interface Recorded<Kind extends ChangeKind> {
  namespace: RunRef['namespace'];
  ordinal: number;
  detail: ChangeDetails[Kind];
}

/** The columns of a change, as both adapters select them; id is the memory's, detail is JSON. */
export interface ChangeRow {
  seq: number;
  kind: ChangeKind;
  id: string;
  detail: string;
}

/** The id of the memory at an ordinal; null when it has been forgotten. */
export type IdOf = (ordinal: number) => string | null;

/** The other memories that a change names. */
export function namedIn({ detail }: ChangeRow): number[] {
  const { into, by, sources = [] } = fromJson<{ into?: number; by?: number; sources?: number[] }>(detail);
  return [into, by, ...sources].filter((ordinal) => ordinal !== undefined);
}

/** A page of changes. */
export function takeChanges(
  rows: Iterable<ChangeRow>,
  request: PageRequest<number>,
  total: number,
  idOf: IdOf,
): Page<RunChange, number> {
  return takePage(rows, request, total, {
    toItem: (row) => toChange(row, idOf),
    bytesOf: (row) => FIXED_FIELDS_BYTES + row.detail.length,
    placeOf: (change) => change.seq,
  });
}

function toChange({ seq, kind, id, detail }: ChangeRow, idOf: IdOf): RunChange {
  const tell = TELL[kind] as Tell<ChangeKind>;
  return { seq, kind, id, ...tell(fromJson<ChangeDetails[ChangeKind]>(detail), idOf) };
}

/** What a reader is told of a change beside its memory. */
type Tell<Kind extends ChangeKind> = (detail: ChangeDetails[Kind], idOf: IdOf) => Partial<RunChange>;

const TELL: { readonly [Kind in ChangeKind]: Tell<Kind> } = {
  settled: () => ({}),
  merged: ({ into }, idOf) => ({ mergedInto: idOf(into) }),
  moved: ({ into }, idOf) => ({ mergedInto: idOf(into) }),
  gained: ({ tags, importance }) => ({ before: { tags, importance } }),
  distilled: ({ sources }, idOf) => ({ derivedFrom: idsOf(sources, idOf) }),
  refreshed: ({ sources }, idOf) => ({ derivedFrom: idsOf(sources, idOf) }),
  corrected: ({ by }, idOf) => ({ supersededBy: idOf(by) }),
  evicted: ({ reason }) => ({ reason }),
};

/** The ids of memories, those that have been forgotten left out. */
function idsOf(ordinals: readonly number[], idOf: IdOf): string[] {
  return ordinals.flatMap((ordinal) => idOf(ordinal) ?? []);
}
