import { addKey, deleteKeys, importKeys, noteKeyUse, openLoopback, readKeys, revokeKey } from './api-keys.ts';
import { clearArchive, evictExcess, evictExpired } from './archive-memories.ts';
import {
  beginChange,
  beginChangeUndo,
  changeBatch,
  dropChanges,
  endChange,
  selectForChange,
  undoChangeBatch,
} from './change-many.ts';
import { comparedMemories, corrections, decideCorrection, suggestCorrections } from './corrections.ts';
import { recordAccess } from './counters.ts';
import {
  acquireLease,
  beginMigration,
  cosineScales,
  endMigration,
  isMigrating,
  keepCosineScales,
  lastBackup,
  probe,
  recordBackup,
  releaseLease,
  secret,
} from './database-marks.ts';
import { correct, distil, dropCandidates, refresh } from './distil-groups.ts';
import { facet } from './facets.ts';
import { dropNamespace, eraseBatch, forget, forgetBatch, lastOrdinal } from './forget-memories.ts';
import { growthSteps } from './growth-steps.ts';
import { allHookSettings, changeHookSettings, hookSettings } from './hook-settings.ts';
import { importCopies, importedCopies, restoreImports } from './import-copies.ts';
import { importRecords } from './import-records.ts';
import { beginImport, endImport, importRun, imports, unchangedTexts } from './imports.ts';
import { growth, memories, memory, newest, session, turnsBefore } from './memory-pages.ts';
import { mergeDuplicates } from './merge-duplicates.ts';
import { outlines, revisions, scopeState } from './outlines.ts';
import { promote } from './promote-memories.ts';
import { setQuota, userQuotas } from './quotas.ts';
import { requeuePassedOver } from './requeue-passed-over.ts';
import { leastRetainedAfter, planEvict, planMergeAfter, planPromotion } from './run-plan.ts';
import { beginRun, changes, endRun, run, runs } from './runs.ts';
import { readGroup } from './semantic-sources.ts';
import { sessions } from './sessions.ts';
import { dropIdempotencyKeys, storeMany } from './store-memories.ts';
import { history, textAt } from './text-history.ts';
import { undoImportBatch } from './undo-import.ts';
import { beginRevert, beginUndo, laterRuns, undoOfMemory, undoSome } from './undo-run.ts';
import { update } from './update-memory.ts';
import { namespaces, namespaceUsage, stats, totals } from './usage.ts';
import { users } from './users.ts';

/** Read functions by name. The first parameter is the `Queries` of one snapshot. */
export const readVerbs = {
  ...{ memory, history, textAt, memories, newest, turnsBefore, growth, session, sessions, users },
  ...{ facet, growthSteps },
  ...{ cosineScales, stats, totals, namespaces, namespaceUsage, userQuotas, secret, isMigrating, lastBackup, readKeys },
  ...{ comparedMemories, corrections, hookSettings, allHookSettings, unchangedTexts, importRun, imports },
  ...{ importCopies, importedCopies, outlines, revisions, scopeState, selectForChange },
  ...{ runs, run, changes, laterRuns, readGroup, planPromotion, planMergeAfter, planEvict, leastRetainedAfter },
};

/**
 * Write functions by name. The first parameter is a `Transaction`. If a function throws, none of its changes is
 * committed.
 */
export const writeVerbs = {
  ...{ storeMany, importRecords, update, forget, forgetBatch, lastOrdinal, recordAccess, dropIdempotencyKeys },
  ...{ beginImport, endImport, undoImportBatch, restoreImports },
  ...{ beginChange, changeBatch, endChange, beginChangeUndo, undoChangeBatch, dropChanges },
  ...{ eraseBatch, dropNamespace, setQuota, changeHookSettings, beginMigration, endMigration },
  ...{
    keepCosineScales,
    openLoopback,
    noteKeyUse,
    addKey,
    importKeys,
    revokeKey,
    deleteKeys,
    acquireLease,
    releaseLease,
    probe,
    recordBackup,
  },
  ...{ beginRun, promote, mergeDuplicates, distil, refresh, correct, dropCandidates, evictExpired, evictExcess },
  ...{ requeuePassedOver, suggestCorrections, decideCorrection },
  ...{ clearArchive, endRun, beginUndo, beginRevert, undoOfMemory, undoSome },
};

export type ReadVerbs = typeof readVerbs;
export type WriteVerbs = typeof writeVerbs;

/** The parameters of a read or write function after `Queries` or `Transaction`. */
export type VerbArguments<Verb> = Verb extends (queries: never, ...args: infer Rest) => unknown ? Rest : never;
