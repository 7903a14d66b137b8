import type { Memory } from '@memoryd/client';
import type { ReactNode } from 'preact/compat';
import { getStored, setStored } from '../browser-storage.ts';
import { withCondition } from '../filter.ts';
import { formatDateTime, formatDay, formatNumber, formatValue } from '../format.ts';
import { TierLabel } from '../parts/labels.tsx';
import { getAddress, getCurrentParams, getSessionAddress, withoutParams } from '../route.ts';
import type { Order } from './rows.ts';

/** A column of the table. */
export interface Column {
  id: string;
  label: string;
  /** Width of the column, in px. The column of the texts also takes the remaining width. */
  widthPx: number;
  /** The order of the table after a click on the header. */
  order?: Order;
  isNumber?: boolean;
  render: (memory: Memory) => ReactNode;
}

const METADATA = 'metadata.';

const TEXT: Column = { id: 'text', label: 'Text', widthPx: 240, render: ({ content }) => content };

const COLUMNS: readonly Column[] = [
  TEXT,
  { id: 'tags', label: 'Tags', widthPx: 130, render: ({ tags }) => <TagLinks tags={tags} /> },
  { id: 'session', label: 'Session', widthPx: 110, render: (memory) => <SessionLink memory={memory} /> },
  { id: 'agent', label: 'Agent', widthPx: 80, render: ({ agent_id }) => agent_id },
  { id: 'user', label: 'User', widthPx: 100, render: ({ user_id }) => user_id },
  { id: 'created', label: 'Created', widthPx: 112, order: 'created', render: ({ created_at: at }) => <Day at={at} /> },
  { id: 'changed', label: 'Changed', widthPx: 112, order: 'changed', render: ({ updated_at: at }) => <Day at={at} /> },
  {
    ...{ id: 'used', label: 'Used', widthPx: 76, order: 'use', isNumber: true },
    render: ({ access_count }) => formatNumber(access_count),
  },
  {
    ...{ id: 'importance', label: 'Importance', widthPx: 112, order: 'importance', isNumber: true },
    render: ({ importance }) => importance.toFixed(2),
  },
  {
    ...{ id: 'retention', label: 'Retention', widthPx: 106, order: 'retention', isNumber: true },
    render: ({ retention }) => `${Math.round(retention * 100)} %`,
  },
  { id: 'tier', label: 'Tier', widthPx: 96, render: ({ tier }) => <TierLabel tier={tier} /> },
  { id: 'source', label: 'Source', widthPx: 90, render: ({ source }) => source },
];

export const COLUMN_CHOICES: readonly Pick<Column, 'id' | 'label'>[] = COLUMNS;

/**
 * The columns that are shown without a choice and if they fit, the most important first. The column of the order comes
 * before them.
 */
const DEFAULT_COLUMNS = ['created', 'tags', 'session', 'tier', 'used', 'agent'];

const MAX_COLUMNS = 20;

/** Returns a column; undefined if there is none with the id. */
export function findColumn(id: string): Column | undefined {
  if (!id.startsWith(METADATA)) return COLUMNS.find((column) => column.id === id);
  const name = id.slice(METADATA.length);
  return name === '' ? undefined : { id, label: name, widthPx: 120, render: ({ metadata }) => toText(metadata[name]) };
}

const toText = (value: unknown): string => (value === undefined ? '' : formatValue(value));

/** The names of metadata fields are shown only to the person who chose them. */
const getStorageName = (keyId = ''): string => `memoryd-columns ${keyId}`;
const LINES_STORAGE_NAME = 'memoryd-lines';

/** Returns the chosen columns: those in the address, otherwise those last chosen in this browser with the API key. */
export function getChosenColumns(params: URLSearchParams, keyId: string | undefined): Column[] | undefined {
  const chosen = params.getAll('column');
  const ids = chosen.length > 0 ? chosen : (getStored('localStorage', getStorageName(keyId))?.split('\n') ?? []);
  const columns = [...new Set(ids)].slice(0, MAX_COLUMNS).flatMap((id) => findColumn(id) ?? []);
  return columns.length > 0 ? columns : undefined;
}

/** Returns the default columns that fit a width, in the order of the columns menu. */
export function getDefaultColumns(widthPx: number, order: Order): Column[] {
  let usedPx = TEXT.widthPx;
  const ordered = COLUMNS.filter((column) => column.order === order).map(({ id }) => id);
  const ids = [...new Set([...ordered, ...DEFAULT_COLUMNS])].filter((id) => {
    usedPx += findColumn(id)?.widthPx ?? 0;
    return usedPx <= widthPx;
  });
  return COLUMNS.filter((column) => column === TEXT || ids.includes(column.id));
}

/** Returns the parameters with a choice of columns, and stores the choice in this browser. Undefined: the default. */
export function withColumns(
  params: URLSearchParams,
  ids: readonly string[] | undefined,
  keyId: string | undefined,
): URLSearchParams {
  const copy = new URLSearchParams(params);
  copy.delete('column');
  for (const id of ids ?? []) copy.append('column', id);
  setStored('localStorage', getStorageName(keyId), ids?.join('\n'));
  return copy;
}

/** Returns whether rows have two lines: as in the address, otherwise as last chosen in this browser. */
export function hasTwoLines(params: URLSearchParams): boolean {
  return (params.get('lines') ?? getStored('localStorage', LINES_STORAGE_NAME)) === '2';
}

export function withLines(params: URLSearchParams, lines: '1' | '2'): URLSearchParams {
  const copy = new URLSearchParams(params);
  copy.set('lines', lines);
  setStored('localStorage', LINES_STORAGE_NAME, lines);
  return copy;
}

// The links in a row are not in the tab order: a grid is one tab stop.

function TagLinks({ tags }: { tags: readonly string[] }) {
  return (
    <>
      {tags.map((tag) => (
        <a
          key={tag}
          className="table-tag"
          tabIndex={-1}
          title={`Only memories tagged ${tag}`}
          href={getAddress('', withCondition(withoutParams(getCurrentParams(), 'open'), { name: 'tag', value: tag }))}
        >
          {tag}
        </a>
      ))}
    </>
  );
}

function SessionLink({ memory: { session_id: id, user_id } }: { memory: Memory }) {
  if (id === null) return null;
  return (
    <a tabIndex={-1} title={id} href={getSessionAddress(id, user_id)}>
      {id}
    </a>
  );
}

function Day({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatDay(at)}
    </time>
  );
}
