import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OpenMemory, openMemory } from '@memoryd/engine';

/** One of the two engines that are compared, with a database of its own. */
export interface Side {
  name: 'old' | 'new';
  /** The address of the engine's module. */
  module: string;
  database: string;
  memory: OpenMemory;
}

/** Opens the engine of a checkout that has been built. */
export async function openSide(
  name: Side['name'],
  checkout: string,
  database: string,
  settings: object,
): Promise<Side> {
  const module = pathToFileURL(join(checkout, 'packages/engine/dist/bundle/index.js')).href;
  return { name, module, database, memory: await openEngineAt(module, database, settings) };
}

/** Opens the memories of a file by the engine at an address; nothing consolidates meanwhile. */
export async function openEngineAt(module: string, database: string, settings: object): Promise<OpenMemory> {
  const engine = (await import(module)) as { openMemory: typeof openMemory };
  return engine.openMemory(database, { ...settings, consolidationIntervalSeconds: 0, workingMax: 100_000_000 });
}
