import type { Memory } from '@memoryd/client';
import { formatTags } from '../draft.ts';
import { formatDateTime } from '../format.ts';

/** A format of exported files. */
export interface ExportFormat {
  label: string;
  /** The ending of file names. */
  extension: string;
  /** Returns the beginning of a file. `memories`: its memories, as in `3 memories`. */
  begin(memories: string): string;
  /** Returns the part of a file for one memory. */
  format(memory: Memory): string;
}

const COLUMNS = [
  'id',
  'content',
  'tags',
  'importance',
  'source',
  'session_id',
  'user_id',
  'agent_id',
  'external_id',
  'tier',
  'created_at',
  'updated_at',
  'valid_from',
  'valid_to',
  'expires_at',
  'access_count',
  'metadata',
] as const satisfies (keyof Memory)[];

export const EXPORT_FORMATS: readonly ExportFormat[] = [
  { label: 'JSON lines', extension: 'jsonl', begin: () => '', format: (memory) => `${JSON.stringify(memory)}\n` },
  {
    label: 'CSV',
    extension: 'csv',
    // Spreadsheets recognize UTF-8 by the byte order mark.
    begin: () => `\uFEFF${COLUMNS.join(',')}\r\n`,
    format: (memory) => `${COLUMNS.map((name) => toCell(toText(name, memory))).join(',')}\r\n`,
  },
  {
    label: 'Markdown',
    extension: 'md',
    begin: (memories) => `# ${memories}\n`,
    format: formatMarkdown,
  },
];

function toText(name: (typeof COLUMNS)[number], memory: Memory): string {
  if (name === 'tags') return formatTags(memory.tags);
  if (name === 'metadata') return Object.keys(memory.metadata).length === 0 ? '' : JSON.stringify(memory.metadata);
  return String(memory[name] ?? '');
}

/**
 * Returns a text as a cell. A spreadsheet would calculate a text that begins like a formula, and could send other cells
 * to somebody; an apostrophe before it makes it a text.
 */
function toCell(text: string): string {
  const safe = /^\s*[=+\-@|%＝＋－＠]|^[\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function formatMarkdown(memory: Memory): string {
  const { content, tags, created_at, session_id, user_id, agent_id, source, importance, id } = memory;
  const facts: readonly [string, string | null | undefined][] = [
    ['Tags', tags.join(', ')],
    ['Session', session_id],
    ['User', user_id],
    ['Agent', agent_id],
    ['Source', source],
    ['Importance', String(importance)],
    ['Id', id],
  ];
  const lines = facts.filter(([, value]) => value).map(([name, value]) => `- ${name}: ${escapeInline(value ?? '')}\n`);
  return `\n## ${formatDateTime(created_at)}\n\n${escapeMarkdown(content)}\n\n${lines.join('')}`;
}

/** Returns text as Markdown that shows it as it is, with its lines. */
function escapeMarkdown(text: string): string {
  const paragraphs = text.trim().split(/\s*\n[^\S\n]*\n\s*/);
  return paragraphs.map((paragraph) => paragraph.split(/\r?\n/).map(escapeLine).join('\\\n')).join('\n\n');
}

/** Escapes a line that may not begin like a list or a heading. */
const escapeLine = (line: string): string =>
  escapeInline(line)
    .replace(/^([-+=])/, '\\$1')
    .replace(/^(\d+)([.)])/, '$1\\$2');

const escapeInline = (text: string): string =>
  text
    .trim()
    .replaceAll(/\s/g, ' ')
    .replaceAll(/[\\`*_{}[\]<>#|~&!]/g, '\\$&');
