import { isDeepStrictEqual } from 'node:util';
import { getNodeValue } from 'jsonc-parser';
import { parse } from 'smol-toml';
import type { UndoRecord } from './edit/edit.ts';
import { readBytes } from './edit/files.ts';
import { findValue, parseJson } from './edit/json-text.ts';
import { getOwnFiles } from './machine.ts';
import type { ConnectionId } from './plan.ts';
import { getConnectionEdits } from './programs/index.ts';
import { type ConnectRecord, isSameConnection, type RecordedConnection } from './record.ts';
import { CAPTURES, type FileEdit, type JsonEntry, type JsonValue, type Machine, OWNED_MARK } from './types.ts';

/** Options with which a connection has the most entries. */
const ALL_ENTRIES = { url: 'http://localhost', user: '', capture: 'turns', recall: true, hasKey: true } as const;

/** The address of an MCP server as connect writes it. */
const MCP_URL = /\/mcp\?user_id=/;

/**
 * Adds connections that a record has lost, so that connect replaces their entries, and remove takes them out. The evidence
 * of a connection is a hook that runs the hook's file of this user, or a plugin that memoryd owns: a server alone may be the
 * person's. The files before the connection are not known, so that objects without other entries are removed too.
 *
 * @param ids connections that may be lost
 */
export function recoverConnections(machine: Machine, record: ConnectRecord, ids: readonly ConnectionId[]): void {
  for (const { program, project } of ids) {
    const id = { program, ...(project !== undefined && { project }) };
    if (record.connections.some((connection) => isSameConnection(connection, id))) continue;
    const files = getConnectionEdits({ ...id, ...ALL_ENTRIES }, machine).map((edit) => ({
      path: edit.path,
      ...findEntries(edit, machine),
    }));
    const options = files.map(({ evidence }) => toOptions(evidence)).find((each) => each !== undefined);
    if (options === undefined) continue;
    record.connections.push({ ...id, ...options, connectedAt: new Date().toISOString(), node: machine.node });
    for (const { path, undo } of files) {
      const isRecorded = record.files.some((file) => file.path === path);
      if (undo.length > 0 && !isRecorded) {
        record.files.push({ path, owners: [{ ...id, entries: '', undo }], written: '' });
      }
    }
  }
}

/** Returns the entries of memoryd in a file, and the text that proves them; none if the file cannot be read. */
function findEntries(edit: FileEdit, machine: Machine): { undo: UndoRecord[]; evidence: string } {
  try {
    const text =
      readBytes(edit.path)
        ?.toString()
        .replace(/^\uFEFF/, '') ?? '';
    const undo = findUndo(text, edit, machine);
    const proof = undo.filter((each) => each.kind === 'json' && isOwnHook(each.value, machine));
    return { undo, evidence: undo.some(({ kind }) => kind === 'whole') ? text : JSON.stringify(proof) };
  } catch {
    return { undo: [], evidence: '' };
  }
}

function findUndo(text: string, edit: FileEdit, machine: Machine): UndoRecord[] {
  switch (edit.kind) {
    case 'json':
      return edit.entries.flatMap((entry) => findJsonUndo(text, entry, machine));
    case 'toml': {
      const value = edit.table.reduce<unknown>((table, key) => (table as Record<string, unknown>)?.[key], parse(text));
      return isOwnServer(value) ? [{ kind: 'toml', table: edit.table, added: '' }] : [];
    }
    case 'line':
      return text.split(/\r?\n/).includes(edit.line)
        ? [{ kind: 'line', line: edit.line, added: `${edit.line}\n` }]
        : [];
    case 'whole':
      return text.includes(OWNED_MARK) ? [{ kind: 'whole' }] : [];
  }
}

function findJsonUndo(text: string, entry: JsonEntry, machine: Machine): UndoRecord[] {
  const node = findValue(parseJson(text), entry.path);
  if (node === undefined) return [];
  const present: JsonValue = structuredClone(getNodeValue(node));
  const undo = { kind: 'json', ...entry, existing: 0, tail: '' } as const;
  if (!entry.isElement) {
    // Connect creates the files that need a version.
    if (entry.isDefault) return isDeepStrictEqual(present, entry.value) ? [{ ...undo, blank: '' }] : [];
    return isOwnServer(present) || isOwnHook(present, machine) ? [{ ...undo, value: present }] : [];
  }
  if (!Array.isArray(present)) return [];
  const isOwn = (value: JsonValue) => isOwnHook(value, machine) || isDeepStrictEqual(value, entry.value);
  return present.filter(isOwn).map((value) => ({ ...undo, value }));
}

function isOwnServer(value: unknown): boolean {
  return MCP_URL.test(JSON.stringify(value) ?? '');
}

/** Returns whether a hook runs the hook's file of this user. Commands have slashes on Windows. */
function isOwnHook(value: JsonValue, machine: Machine): boolean {
  const toSlashes = (text: string) => text.replaceAll(/\\+/g, '/');
  return toSlashes(JSON.stringify(value)).includes(toSlashes(getOwnFiles(machine).hook));
}

/** Returns the options in the address that a hook calls; undefined without an address. */
function toOptions(text: string): Omit<RecordedConnection, 'program' | 'project' | 'connectedAt' | 'node'> | undefined {
  const [, url, query, fragment] = /(https?:\/\/[^\s"'\\]+)\/hooks\/[\w-]+\?([^\s"'\\#]+)(#key)?/.exec(text) ?? [];
  const values = new URLSearchParams(query);
  const user = values.get('user_id');
  if (url === undefined || user === null) return undefined;
  const budget = Number(values.get('budget'));
  return {
    ...{ url, user, recall: values.get('recall') !== 'off', hasKey: fragment !== undefined },
    capture: CAPTURES.find((capture) => capture === values.get('capture')) ?? 'prompts',
    ...(budget > 0 && { budget }),
  };
}
