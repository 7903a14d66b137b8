import { randomUUID } from 'node:crypto';
import { type MemoryApi, MemoryError } from '@memoryd/contract';

interface OpenMemories {
  api: MemoryApi;
  close(): Promise<void>;
}

interface DatabaseOnDemand {
  /** Returns whether the database exists. Called before each operation until the database is open. */
  exists(): Promise<boolean>;
  /** Opens the database, and creates it if it is missing. */
  open(): Promise<OpenMemories>;
}

/**
 * Returns memories whose database is opened by the first operation if the database exists, and otherwise created by the
 * first store. Until then, the namespace is empty. If opening fails, the operation rejects, and the next operation
 * opens the database again.
 */
export function openOnDemand({ exists, open }: DatabaseOnDemand): OpenMemories {
  let opening: Promise<OpenMemories> | undefined;
  const openOnce = async (): Promise<MemoryApi> => {
    opening ??= open();
    const attempt = opening;
    try {
      return (await attempt).api;
    } catch (error) {
      if (opening === attempt) opening = undefined;
      throw error;
    }
  };
  const find = async () => (opening || (await exists()) ? openOnce() : undefined);
  return { api: createApi(find, openOnce), close: async () => (await opening?.catch(() => undefined))?.close() };
}

/** An operation whose result is a promise. */
type Operation = Exclude<keyof MemoryApi, 'events' | 'exportMemories'>;

/**
 * @param find returns the memories, or undefined if the database does not exist
 * @param create returns the memories, after creating the database if it does not exist
 */
function createApi(find: () => Promise<MemoryApi | undefined>, create: () => Promise<MemoryApi>): MemoryApi {
  const creating = <Name extends Operation>(name: Name) =>
    (async (...args: unknown[]) => call(await create(), name, args)) as MemoryApi[Name];
  const reading = <Name extends Operation>(
    name: Name,
    getEmpty: (...args: Parameters<MemoryApi[Name]>) => Awaited<ReturnType<MemoryApi[Name]>>,
  ) =>
    (async (...args: Parameters<MemoryApi[Name]>) => {
      const api = await find();
      return api ? call(api, name, args) : getEmpty(...args);
    }) as MemoryApi[Name];
  const missing = (item: string) => () => {
    throw new MemoryError('NOT_FOUND', `${item} not found`);
  };
  return {
    store: creating('store'),
    storeBatch: creating('storeBatch'),
    importMemories: creating('importMemories'),
    importTexts: creating('importTexts'),
    recall: reading('recall', () => ({ results: [], total: 0 })),
    context: reading('context', () => ({ text: '', tokens: 0, memories: [], omitted: 0 })),
    session: reading('session', ({ session_id }) => ({ session_id, memories: [], total: 0 })),
    sessions: reading('sessions', () => ({ sessions: [], total: 0 })),
    users: reading('users', () => ({ users: [], total: 0 })),
    memories: reading('memories', () => ({ memories: [], total: 0 })),
    facets: reading('facets', () => ({ values: [], total: 0 })),
    growth: reading('growth', () => ({ steps: [], total: 0 })),
    map: reading('map', () => ({
      state: 'unavailable',
      computed_at: null,
      points: [],
      clusters: [],
      total: 0,
      is_changing: false,
    })),
    related: reading('related', missing('memory')),
    recalls: reading('recalls', () => ({ recalls: [], total: 0, is_remembered: false })),
    memory: reading('memory', missing('memory')),
    history: reading('history', missing('memory')),
    update: reading('update', missing('memory')),
    updateMany: reading('updateMany', (_selection, { change_id = randomUUID() }) => ({
      ...{ status: 'updated', change_id },
      ...{ updated_count: 0, unchanged_count: 0, refused_count: 0 },
    })),
    undoChange: reading('undoChange', missing('change')),
    forget: reading('forget', missing('memory')),
    forgetMany: reading('forgetMany', () => ({ status: 'forgotten', forgotten_count: 0 })),
    consolidate: reading('consolidate', () => ({ status: 'consolidated', consolidated_count: 0, evicted_count: 0 })),
    consolidations: reading('consolidations', () => ({ consolidations: [], total: 0 })),
    consolidation: reading('consolidation', missing('consolidation')),
    undo: reading('undo', missing('consolidation')),
    corrections: reading('corrections', () => ({ corrections: [], total: 0 })),
    decideCorrection: reading('decideCorrection', missing('correction')),
    imports: reading('imports', () => ({ imports: [], total: 0 })),
    undoImport: reading('undoImport', missing('import')),
    stats: reading('stats', () => EMPTY_STATS),
    async *events(...args) {
      yield* (await find())?.events(...args) ?? [];
    },
    async *exportMemories(...args) {
      const api = await find();
      if (!api) throw new MemoryError('NOT_FOUND', 'there is no database to export yet; store a memory first');
      yield* api.exportMemories(...args);
    },
  };
}

async function call(api: MemoryApi, name: Operation, args: readonly unknown[]): Promise<unknown> {
  return (api[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
}

const EMPTY_STATS = {
  ...{ working_count: 0, episodic_count: 0, semantic_count: 0 },
  ...{ current_count: 0, superseded_count: 0, ended_count: 0 },
  ...{ db_size_mb: 0, last_sleep_at: null, next_sleep_at: null, pending_embeddings: 0 },
};
