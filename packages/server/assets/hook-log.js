import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { read } from './project-headers.js';

/** Maximum size of the log that is kept, in characters. */
const MAX_LENGTH = 9999;

/** Adds an error to a log, unless the log has a line of today. Never throws. */
export function logError(path, program, { message }) {
  try {
    const now = new Date().toISOString();
    const log = read(path) ?? '';
    if (log.includes(now.slice(0, 10))) return;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${log.slice(-MAX_LENGTH)}${now} ${program} ${message}\n`);
  } catch {}
}
