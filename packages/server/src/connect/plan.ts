import { basename } from 'node:path';
import { UnchangeableFile } from './edit/failures.ts';
import { deleteFile, readBytes, removeIfEmpty, writeBytes } from './edit/files.ts';
import { type FilePlan, getDigest, planFile, type WantedEntries } from './edit/plan-file.ts';
import { getOwnFiles, joinPath } from './machine.ts';
import { getConnectionEdits } from './programs/index.ts';
import {
  type ConnectRecord,
  type FileRecord,
  isSameConnection,
  type RecordedConnection,
  writeRecord,
} from './record.ts';
import type { Connection, FileEdit, Machine, ProgramName } from './types.ts';

/** The program and the project of a connection. */
export interface ConnectionId {
  program: ProgramName;
  project?: string;
}

/** The change of one file. */
export interface PlannedFile {
  path: string;
  plan: FilePlan;
  wanted: readonly WantedEntries[];
}

/** A file that is left alone. */
export interface SkippedFile {
  path: string;
  reason: string;
  wanted: readonly WantedEntries[];
}

export interface Plan {
  connections: RecordedConnection[];
  /** All files with entries of the changed connections, also those that do not change. */
  files: PlannedFile[];
  skipped: SkippedFile[];
}

/**
 * Plans the changes of files that add, replace and remove connections. Writes nothing.
 *
 * @param add connections that are added, or replace those of the same program and project
 */
export function planConnections(
  machine: Machine,
  record: ConnectRecord,
  { add = [], remove = [] }: { add?: readonly Connection[]; remove?: readonly ConnectionId[] },
): Plan {
  const changed: readonly ConnectionId[] = [...add, ...remove];
  const isChanged = (id: ConnectionId) => changed.some((each) => isSameConnection(each, id));
  const recorded = add.map((connection) => toRecorded(connection, record, machine));
  const kept = record.connections.filter((connection) => !isChanged(connection));
  const connections = [...kept, ...recorded];
  const edits = new Map(connections.map((connection) => [connection, getEditsByPath(connection, machine)]));
  const paths = new Set([
    ...record.files.filter(({ owners }) => owners.some(isChanged)).map(({ path }) => path),
    ...recorded.flatMap((connection) => [...(edits.get(connection)?.keys() ?? [])]),
  ]);
  const plan: Plan = { connections, files: [], skipped: [] };
  for (const path of paths) {
    const wanted = connections.flatMap(({ program, project }, index) => {
      const own = edits.get(connections[index] as RecordedConnection)?.get(path);
      return own ? [{ program, ...(project !== undefined && { project }), edits: own }] : [];
    });
    try {
      plan.files.push({ path, plan: readAndPlan(machine, record, path, wanted), wanted });
    } catch (error) {
      if (!(error instanceof UnchangeableFile)) throw error;
      plan.skipped.push({ path, reason: error.message, wanted });
    }
  }
  return plan;
}

function toRecorded(connection: Connection, { connections }: ConnectRecord, machine: Machine): RecordedConnection {
  const before = connections.find((each) => isSameConnection(each, connection));
  const after = { ...connection, node: machine.node };
  const { connectedAt, ...options } = before ?? { connectedAt: '' };
  const isSame = JSON.stringify(sortKeys(options)) === JSON.stringify(sortKeys(after));
  return { ...after, connectedAt: isSame ? connectedAt : new Date().toISOString() };
}

function sortKeys(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function getEditsByPath(connection: Connection, machine: Machine): Map<string, FileEdit[]> {
  const byPath = new Map<string, FileEdit[]>();
  for (const edit of getConnectionEdits(connection, machine)) {
    byPath.set(edit.path, [...(byPath.get(edit.path) ?? []), edit]);
  }
  return byPath;
}

function readAndPlan(
  machine: Machine,
  { files }: ConnectRecord,
  path: string,
  wanted: readonly WantedEntries[],
): FilePlan {
  const record = files.find((file) => file.path === path);
  const backup = record?.backup === undefined ? undefined : readBytes(getBackupPath(machine, record.backup));
  return planFile(readBytes(path), record, backup, wanted);
}

function getBackupPath(machine: Machine, name: string): string {
  return joinPath(machine, getOwnFiles(machine).backups, name);
}

/** Returns whether a plan changes the bytes of a file. */
export function isChange({ before, after }: FilePlan): boolean {
  return before === undefined || after === undefined ? before !== after : !before.equals(after);
}

/**
 * Carries out a plan: keeps copies of the originals, records, then writes. A file that has changed since it was planned is
 * planned again.
 *
 * @returns the files that were written or deleted, and those that were left alone
 */
export async function applyPlan(
  machine: Machine,
  record: ConnectRecord,
  { connections, files }: Plan,
): Promise<{ changed: PlannedFile[]; skipped: SkippedFile[] }> {
  const changed: PlannedFile[] = [];
  const skipped: SkippedFile[] = [];
  const before = record.connections;
  record.connections = connections;
  for (const { path, wanted } of files) {
    try {
      const file = { path, wanted, plan: readAndPlan(machine, record, path, wanted) };
      if (await applyFile(machine, record, file)) changed.push(file);
    } catch (error) {
      skipped.push({ path, reason: toReason(error), wanted });
    }
  }
  // A connection whose file could not be changed back is not removed.
  const isLeft = (id: ConnectionId) =>
    !connections.some((each) => isSameConnection(each, id)) &&
    record.files.some(({ owners }) => owners.some((owner) => isSameConnection(owner, id)));
  record.connections = [...before.filter(isLeft), ...connections];
  const innermostFirst = record.createdFolders.toSorted((a, b) => b.length - a.length);
  record.createdFolders = innermostFirst.filter((folder) => !removeIfEmpty(folder) && record.files.length > 0);
  await writeRecord(machine, record);
  return { changed, skipped };
}

function toReason(error: unknown): string {
  if (error instanceof UnchangeableFile) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  return `it cannot be written (${code}); check its permissions`;
}

/** Writes or deletes a file, and records it. Returns whether the file has changed. */
async function applyFile(machine: Machine, record: ConnectRecord, { path, plan }: PlannedFile): Promise<boolean> {
  const { after, original, owners } = plan;
  const before = record.files.find((file) => file.path === path);
  if (owners.length === 0 || after === undefined) {
    if (isChange(plan)) await restore(path, after);
    record.files = record.files.filter((file) => file !== before);
    await writeRecord(machine, record);
    if (before?.backup !== undefined) deleteFile(getBackupPath(machine, before.backup));
    return isChange(plan);
  }
  // The file has all entries, wherever they have been moved since. The record stays, so that the undo does too.
  if (owners === before?.owners) return false;
  const next: FileRecord = { path, owners, written: getDigest(after) };
  if (original !== undefined) {
    next.backup = `${getDigest(Buffer.from(path)).slice(0, 16)}-${basename(path)}`;
    await writeBytes(getBackupPath(machine, next.backup), original, 0o600);
  }
  record.files = before ? record.files.map((file) => (file === before ? next : file)) : [...record.files, next];
  await writeRecord(machine, record);
  if (!isChange(plan)) return false;
  record.createdFolders.push(...(await writeBytes(path, after)));
  return true;
}

async function restore(path: string, bytes: Buffer | undefined): Promise<void> {
  if (bytes === undefined) deleteFile(path);
  else await writeBytes(path, bytes);
}
