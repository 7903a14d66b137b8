import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OpenMemory, openMemory } from '@memoryd/engine';

/** One of the two compared engines, with its own database. */
export interface Side {
  name: 'old' | 'new';
  /** URL of the engine's module. */
  module: string;
  database: string;
  memory: OpenMemory;
}

/** Opens a database with the engine of a built checkout. */
export async function openSide(
  name: Side['name'],
  checkout: string,
  database: string,
  settings: object,
): Promise<Side> {
  const module = pathToFileURL(join(checkout, 'packages/engine/dist/bundle/index.js')).href;
  return { name, module, database, memory: await openEngineAt(module, database, settings) };
}

/** Opens a database with the engine at a module URL, without scheduled consolidation. */
export async function openEngineAt(module: string, database: string, settings: object): Promise<OpenMemory> {
  const engine = (await import(module)) as { openMemory: typeof openMemory };
  return engine.openMemory(database, { ...settings, consolidationIntervalSeconds: 0, workingMax: 100_000_000 });
}
