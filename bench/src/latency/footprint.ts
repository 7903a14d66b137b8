import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Figures, rounded } from './figures.ts';

/** Memory that a process holds now and held at most, from `/proc`; null where there is none. */
export function readProcessMemory(pid: number): Figures {
  const status = process.platform === 'linux' ? readFileSync(`/proc/${pid}/status`, 'utf8') : '';
  const megabytes = (field: string): number | null => {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    return kibibytes === undefined ? null : rounded((Number(kibibytes) * 1024) / 1e6);
  };
  return { resident_mb: megabytes('VmRSS'), resident_peak_mb: megabytes('VmHWM') };
}

/** Bytes of all files in a folder. */
export function folderBytes(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(folder, entry.name)).size, 0);
}
