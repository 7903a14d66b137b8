import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Figures, roundFigure } from './figures.ts';

/** Returns the current and peak resident memory of a process in MB, from `/proc`; null on other systems than Linux. */
export function readProcessMemory(pid: number): Figures {
  const status = process.platform === 'linux' ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
  const megabytes = (field: string): number | null => {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return kibibytes === undefined ? null : roundFigure((Number(kibibytes) * 1024) / 1e6);
  };
  return { resident_mb: megabytes('VmRSS'), resident_peak_mb: megabytes('VmHWM') };
}

/** Returns the total size in bytes of the files in a folder, without subfolders. */
export function getFolderBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(folder, entry.name)).size, 0);
}
