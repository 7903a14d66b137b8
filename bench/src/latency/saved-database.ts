import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Contents of a saved database. A run can reuse a database only if all fields are equal, because the run asks about the
 * stored turns.
 */
export interface Filling {
  count: number;
  seed: number;
  /** Names of the data folders; empty for generated text. */
  data: string[];
}

/**
 * Creates the folder `<folder>/<count>` for a database and returns its path.
 *
 * @throws if the folder already exists
 */
export function createDatabaseFolder(folder: string, { count }: Filling): string {
  const path = join(folder, String(count));
  if (existsSync(path))
    throw new Error(
      `${path} already exists; measure it with --reuse ${folder}, or create a database in another folder with --keep FOLDER`,
    );
  mkdirSync(path, { recursive: true });
  return path;
}

/** Marks the database in a folder of `createDatabaseFolder` as filled. */
export function markFilled(path: string, filling: Filling): void {
  writeFileSync(join(path, MARKER_FILE), `${JSON.stringify(filling)}\n`);
}

/**
 * Returns the folder of a saved database with the contents `filling`.
 *
 * @throws if the folder contains no filled database, or a database with other contents
 */
export function getFilledFolder(folder: string, filling: Filling): string {
  const path = join(folder, String(filling.count));
  const markerPath = join(path, MARKER_FILE);
  if (!existsSync(markerPath)) throw new Error(`${path} contains no filled database; create one with --keep ${folder}`);
  const kept = JSON.parse(readFileSync(markerPath, 'utf8')) as Filling;
  if (JSON.stringify(kept) !== JSON.stringify(filling)) {
    throw new Error(
      `${path} was filled with other texts (${JSON.stringify(kept)}); use the same --seed and --data, or create a ` +
        'database in another folder with --keep FOLDER',
    );
  }
  return path;
}

const MARKER_FILE = 'filling.json';
