import { getHookText } from './assets.ts';
import { deleteFile, readBytes, removeIfEmpty, writeBytes } from './edit/files.ts';
import { getOwnFiles } from './machine.ts';
import { readRecord } from './record.ts';
import type { Machine } from './types.ts';

/** Writes the program that hooks run, unless it is there. */
export async function writeHook(machine: Machine): Promise<void> {
  const { hook, log } = getOwnFiles(machine);
  const text = getHookText(log);
  if (readBytes(hook)?.toString() !== text) await writeBytes(hook, text);
}

/** Deletes the files of connect itself after the last connection is removed, but no file that another part recorded. */
export function removeOwnFiles(machine: Machine): void {
  const { hook, log, backups, record } = getOwnFiles(machine);
  deleteFile(hook);
  deleteFile(log);
  removeIfEmpty(backups);
  const { version: _version, connections, files, createdFolders, ...others } = readRecord(machine);
  if (connections.length + files.length + createdFolders.length + Object.keys(others).length === 0) deleteFile(record);
  removeIfEmpty(machine.folders.config);
  removeIfEmpty(machine.folders.log);
}
