import { readFileSync } from 'node:fs';
import { writeFile } from 'atomically';
import { UsageError } from '../usage-error.ts';
import type { UndoRecord } from './edit/edit.ts';
import { getOwnFiles } from './machine.ts';
import type { InstalledService } from './service/user-service.ts';
import type { Connection, Machine, ProgramName } from './types.ts';

/** A connection as it is recorded. */
export interface RecordedConnection extends Connection {
  /** ISO 8601 time of the last connect. */
  connectedAt: string;
  /** The Node executable in the hook commands. */
  node: string;
}

/** A file before it was connected, and the entries of memoryd in it. */
export interface FileRecord {
  /** The absolute path. It may be a link; the file that it leads to is changed. */
  path: string;
  /** The connections with entries in the file, in the order of their first connect. */
  owners: FileOwner[];
  /** The name of the copy of the original in the backup folder; undefined if the file did not exist. */
  backup?: string;
  /** SHA-256 of the bytes that connect wrote, in hex. */
  written: string;
}

/** The entries of one connection in a file. */
export interface FileOwner {
  program: ProgramName;
  project?: string;
  /** SHA-256 of the entries, in hex. */
  entries: string;
  /** How the entries are undone, in the order of writing. */
  undo: UndoRecord[];
}

/** The content of `connect.json`. Keys that this version does not know are kept. */
export interface ConnectRecord {
  version: 1;
  connections: RecordedConnection[];
  files: FileRecord[];
  /** The folders that connect created for files. */
  createdFolders: string[];
  /** The service that connect installed. */
  service?: InstalledService;
  /** The key that connect wrote to the file `key`. */
  key?: RecordedKey;
}

/** A key for a service. */
interface RecordedKey {
  /** Id of a key that connect made, and revokes. Absent for a key that was given. */
  id?: string;
  /** Address of the service of the key. */
  url: string;
  user: string;
}

/**
 * Returns the record of all connections; an empty record if nothing was connected.
 *
 * @throws UsageError if the file is not readable or of another version
 */
export function readRecord(machine: Machine): ConnectRecord {
  const { record: path } = getOwnFiles(machine);
  const text = readText(path);
  if (text === undefined) return { version: 1, connections: [], files: [], createdFolders: [] };
  const value = parse(text, path) as ConnectRecord;
  if (value?.version !== 1 || ![value.connections, value.files, value.createdFolders].every(Array.isArray)) {
    throw new UsageError(`${path} must be a record of version 1; update memoryd, or move the file away`);
  }
  return value;
}

/** Writes the record atomically, readable by the user only, because hook commands may name private projects. */
export async function writeRecord(machine: Machine, record: ConnectRecord): Promise<void> {
  await writeFile(getOwnFiles(machine).record, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
}

/** Returns whether a record is of the connection of a program, for the user or for a project. */
export function isSameConnection(
  a: { program: ProgramName; project?: string },
  b: { program: ProgramName; project?: string },
): boolean {
  return a.program === b.program && a.project === b.project;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new UsageError(`${path} cannot be read (${code}); check its permissions`);
  }
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(`${path} must be JSON; restore it, or move it away and connect again`);
  }
}
