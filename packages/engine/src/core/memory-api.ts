import type { MemoryApi, Scope } from '@memoryd/contract';
import { consolidate } from './consolidate.ts';
import { consolidation, consolidations } from './consolidations.ts';
import type { Core } from './core.ts';
import { events } from './events.ts';
import { exportMemories } from './export.ts';
import { forget, forgetMany } from './forget.ts';
import { history } from './history.ts';
import { importMemories } from './import.ts';
import { memories, memory } from './memories.ts';
import { recall } from './recall.ts';
import { session, sessions } from './session.ts';
import { stats } from './stats.ts';
import { store } from './store.ts';
import { storeBatch } from './store-batch.ts';
import { undo } from './undo.ts';
import { update } from './update.ts';

/** The memories of one namespace, as callers of a scope see them. */
export function memoryApi(core: Core, namespace: string, scope: Scope): MemoryApi {
  return {
    store: (...args) => store(core, namespace, ...args),
    storeBatch: (...args) => storeBatch(core, namespace, ...args),
    recall: (...args) => recall(core, namespace, ...args),
    session: (...args) => session(core, namespace, ...args),
    sessions: (...args) => sessions(core, namespace, ...args),
    memory: (...args) => memory(core, namespace, ...args),
    history: (...args) => history(core, namespace, ...args),
    memories: (...args) => memories(core, namespace, ...args),
    update: (...args) => update(core, namespace, ...args),
    forget: (...args) => forget(core, namespace, ...args),
    forgetMany: (...args) => forgetMany(core, namespace, ...args),
    consolidate: (...args) => consolidate(core, namespace, ...args),
    consolidations: (...args) => consolidations(core, namespace, ...args),
    consolidation: (...args) => consolidation(core, namespace, ...args),
    undo: (...args) => undo(core, namespace, ...args),
    events: (...args) => events(core, namespace, ...args),
    exportMemories: (signal) => exportMemories(core, namespace, signal),
    importMemories: (lines) => importMemories(core, namespace, lines),
    stats: () => stats(core, namespace, scope),
  };
}
