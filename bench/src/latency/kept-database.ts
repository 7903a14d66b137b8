import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a kept database was filled with: the same question can be asked of it only with the same texts. */
export interface Filling {
  count: number;
  seed: number;
  /** Names of the data's folders; none for generated text. */
  data: string[];
}

/**
 * A folder of its own for a filling, in which nothing was kept before.
 *
 * @throws when something was
 */
export function newKeptFolder(folder: string, { count }: Filling): string {
  const path = join(folder, String(count));
  if (existsSync(path)) throw new Error(`${path} is there already; measure what is in it with --reuse ${folder}`);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Notes that the database in a folder of `newKeptFolder` is filled. */
export function noteFilled(path: string, filling: Filling): void {
  writeFileSync(join(path, NOTE_NAME), `${JSON.stringify(filling)}\n`);
}

/**
 * The folder of a filling that was kept.
 *
 * @throws when there is none, or it was filled with other texts
 */
export function reusedFolder(folder: string, filling: Filling): string {
  const path = join(folder, String(filling.count));
  const notePath = join(path, NOTE_NAME);
  if (!existsSync(notePath)) throw new Error(`${path} holds no filled database; fill one with --keep`);
  const kept = JSON.parse(readFileSync(notePath, 'utf8')) as Filling;
  if (JSON.stringify(kept) !== JSON.stringify(filling)) {
    throw new Error(`${path} was filled with other texts: ${JSON.stringify(kept)}`);
  }
  return path;
}

const NOTE_NAME = 'filling.json';
