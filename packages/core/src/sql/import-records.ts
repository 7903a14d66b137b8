import type { Owner } from '@memoryd/search';
import type {
  Awaited,
  ExportRecord,
  Imported,
  ImportedRecord,
  MemoryRecord,
  PendingLink,
} from '../ports/storage-export.ts';
import type { Quotas } from '../ports/storage-namespaces.ts';
import { queueForDistilling, queueForMerging } from './consolidation-queue.ts';
import { countUsage } from './counters.ts';
import { secret } from './database-marks.ts';
import { findExternalIds } from './external-ids.ts';
import {
  type ExistingMemory,
  findOwn,
  getReferencedIds,
  RecordImport,
  restoreSupersedes,
  setLinks,
} from './import-links.ts';
import { assertImporting, recordImported } from './imports.ts';
import { addUsers, countEntering } from './list-counters.ts';
import { insertRows } from './memory-rows.ts';
import type { Queries, Transaction } from './queries.ts';
import { getRecordUsage, readRooms } from './quotas.ts';
import { toNewId } from './record-digests.ts';
import { forgetDistillingRules } from './requeue-passed-over.ts';
import { raw, sql } from './sql.ts';

/**
 * Stores records of another database. The transaction must hold the lock of the namespace. See `Storage.importRecords`.
 */
export async function importRecords(
  transaction: Transaction,
  namespace: string,
  records: readonly ExportRecord[],
  links: readonly PendingLink[],
  quota: Quotas,
  importId?: string,
): Promise<Imported> {
  const run = importId === undefined ? undefined : await assertImporting(transaction, namespace, importId);
  const memories = records.flatMap((record) => ('memory' in record ? [record.memory] : []));
  const getNewId = createNewIds(await secret(transaction), namespace);
  const existing = await readExisting(transaction, namespace, getReferencedIds(memories, getNewId));
  const externalIds = await findExternalIds(
    transaction,
    memories.map((memory) => ({ ...memory, namespace })),
  );
  const count = memories.filter((memory) => !findOwn({ existing, getNewId }, memory)).length;
  const ordinals = (await transaction.nextOrdinals(count)).values();
  const imported: ImportedMemory[] = [];
  const recordImport = new RecordImport({
    namespace,
    existing,
    externalIds,
    getNewId,
    rooms: await readRooms(
      transaction,
      memories.map(({ userId }) => ({ namespace, userId })),
      quota,
    ),
    links,
    insert(memory) {
      const ordinal = ordinals.next().value as number;
      imported.push({ ...memory, namespace, ordinal });
      return ordinal;
    },
  });
  const importedRecords: ImportedRecord[] = [];
  for (const record of records) {
    importedRecords.push(
      'memory' in record ? recordImport.take(record.memory) : await importDeclined(transaction, namespace, record),
    );
  }
  await insertImported(transaction, namespace, imported);
  if (run !== undefined) {
    await recordImported(
      transaction,
      imported.map(({ ordinal, version }) => ({ namespace, ordinal, run, digest: '', version })),
    );
  }
  await setLinks(transaction, namespace, recordImport.links);
  await restoreSupersedes(transaction, namespace, recordImport.corrections);
  await queueForMerging(transaction, namespace, recordImport.merging);
  return { records: importedRecords, waiting: recordImport.waiting };
}

/** Returns `toNewId` for a namespace, with a cache, because each id is looked up several times. */
function createNewIds(key: string, namespace: string) {
  const newIds = new Map<string, string>();
  return ({ userId, agentId }: Owner, id: string): string => {
    const name = `${userId}\0${agentId}\0${id}`;
    const newId = newIds.get(name) ?? toNewId(key, namespace, { userId, agentId }, id);
    newIds.set(name, newId);
    return newId;
  };
}

type ImportedMemory = MemoryRecord & { namespace: string; ordinal: number };

async function readExisting(
  queries: Queries,
  namespace: string,
  { own, named }: { own: string[]; named: string[] },
): Promise<Map<string, ExistingMemory>> {
  const { isIn } = queries.dialect;
  const rows = await queries.rows<Omit<ExistingMemory, 'isSource'> & { isSource: boolean | number }>(sql`
    SELECT m.id, m.ordinal, m.tier, m.user_id AS "userId", m.agent_id AS "agentId", m.version,
      m.external_id AS "externalId", m.stored_at AS "storedAt",
      CASE WHEN ${isIn(raw('m.id'), own)} THEN m.content ELSE '' END AS content,
      EXISTS (SELECT 1 FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "isSource"
    FROM memory m WHERE m.namespace = ${namespace} AND ${isIn(raw('m.id'), [...new Set([...own, ...named])])}`);
  return new Map(rows.map((row) => [row.id, { ...row, isSource: Boolean(row.isSource) }]));
}

async function importDeclined(
  transaction: Transaction,
  namespace: string,
  { declinedGroup, userId, agentId }: Extract<ExportRecord, { declinedGroup: string }>,
): Promise<ImportedRecord> {
  const count = await transaction.run(sql`
    INSERT INTO declined_group (namespace, digest, user_id, agent_id)
    VALUES (${namespace}, ${Buffer.from(declinedGroup, 'hex')}, ${userId}, ${agentId})
    ON CONFLICT DO NOTHING`);
  return { outcome: count > 0 ? 'imported' : 'unchanged' };
}

const HISTORY = {
  namespace: 'text',
  ordinal: 'bigint',
  revision: 'integer',
  replaced_at: 'bigint',
  content: 'text',
} as const;

const ACCESS = { namespace: 'text', ordinal: 'bigint', count: 'integer', last_at: 'bigint' } as const;

/** Writes memories and their dependent rows, without links. */
async function insertImported(
  transaction: Transaction,
  namespace: string,
  memories: readonly ImportedMemory[],
): Promise<void> {
  if (memories.length === 0) return;
  await insertRows(
    transaction,
    memories.map((memory) => ({ ...memory, supersedes: null })),
  );
  const texts = memories.flatMap(({ ordinal, history }) =>
    history.map(({ revision, replacedAt, content }) => ({
      namespace,
      ordinal,
      revision,
      replaced_at: replacedAt,
      content,
    })),
  );
  await transaction.insert('memory_history', HISTORY, texts);
  const used = memories.filter(({ accessedAt }) => accessedAt !== null);
  const accesses = used.map(({ ordinal, accessCount, accessedAt }) => ({
    namespace,
    ordinal,
    count: accessCount,
    last_at: accessedAt,
  }));
  await transaction.insert('memory_access', ACCESS, accesses);
  await indexImported(transaction, namespace, memories);
  await addUsers(transaction, memories);
  await countUsage(
    transaction,
    memories.map((memory) => {
      const { userId, storedAt } = memory;
      return { namespace, userId, lastStoredAt: storedAt, ...getRecordUsage(memory) };
    }),
  );
}

/**
 * Indexes the imported memories that are in a tier, and adds each memory to the consolidation queues that contained the
 * memory at the export.
 */
async function indexImported(
  transaction: Transaction,
  namespace: string,
  memories: readonly ImportedMemory[],
): Promise<void> {
  const inTier = memories.filter(({ evictedAt }) => evictedAt === null);
  await transaction.recall.enterNew(inTier, 'not waited for');
  const queuedFor = (kind: Awaited) =>
    inTier.filter(({ awaits }) => awaits.includes(kind)).map(({ ordinal }) => ordinal);
  await queueForMerging(transaction, namespace, queuedFor('merging'));
  await queueForDistilling(transaction, namespace, queuedFor('distilling'));
  // The exporting database may have had earlier rules of distilling.
  const wereExamined = inTier.some(({ tier, awaits }) => tier !== 'semantic' && !awaits.includes('distilling'));
  if (wereExamined) await forgetDistillingRules(transaction, namespace);
  await countEntering(transaction, inTier);
}
