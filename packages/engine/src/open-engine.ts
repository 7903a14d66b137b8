import { randomUUID } from 'node:crypto';
import { DEFAULTS, MemoryError, TIME_ZONE_MUST, withScope } from '@memoryd/contract';
import { explainOldNode } from '@memoryd/engine/node-version';
import { AccessLog } from './core/access-log.ts';
import { Consolidator } from './core/consolidation/consolidator.ts';
import { ConsolidationSchedule } from './core/consolidation/schedule.ts';
import { recalledBy } from './core/consolidation/self-check.ts';
import type { Core } from './core/core.ts';
import { withFallback } from './core/distil/with-fallback.ts';
import { EmbeddingQueue } from './core/embedding-queue/embedding-queue.ts';
import { openedEarly } from './core/embedding-queue/opened-early.ts';
import { type EventLimits, EventLog } from './core/event-log.ts';
import { memoryApi } from './core/memory-api.ts';
import { assertKeepableNamespace, getNamespaces } from './core/namespaces.ts';
import { onlyModelInUse } from './core/only-model-in-use.ts';
import { findTimeZone } from './core/ranking/time-zone.ts';
import { ArrivalClock } from './core/time.ts';
import { DatabaseHealth, watchedBy } from './database-health.ts';
import { extractive } from './distilling/extractive.ts';
import { openMiniLm, withoutStates } from './embedding/minilm.ts';
import { openTransformers } from './embedding/transformers.ts';
import type { Engine, EngineOptions, EngineSettings } from './engine.ts';
import {
  ENGINE_DEFAULTS,
  ENGINE_RANGES,
  ENGINE_SETTING_NAMES,
  findIgnoredSetting,
  MAX_PREFIX_LENGTH,
  POOLINGS,
} from './engine-defaults.ts';
import { KeyRing } from './keys/key-ring.ts';
import { DATABASE_OPTION_NAMES, type DatabaseOptions, databaseNamed, openStorage } from './open-storage.ts';
import type { Lease } from './ports/coordination.ts';
import type { DecliningDistiller } from './ports/distiller.ts';
import type { OpenEmbedder } from './ports/embedder.ts';
import type { Clock, Telemetry } from './ports/runtime.ts';
import type { Storage } from './ports/storage.ts';
import type { Quotas } from './ports/storage-namespaces.ts';
import { knownFormats } from './redacting/known-formats.ts';
import { english } from './synonyms/table.ts';
import { syntheticIvSeal, systemClock, uuidV7 } from './system.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Opens a database and everything that serves it: one process, and one embedding model, for all its namespaces. While the
 * model cannot be opened, that is reported, recall goes by words, and opening is tried again. Other processes, servers among
 * them, may have the same database open. Warnings and errors become warnings of the process, unless `telemetry` takes them.
 *
 * @param database the path of a file, which is made where it is not there yet, the address of a PostgreSQL database
 *   (`postgres://…`), or either by its option, together with other options
 * @param options what is left out, or undefined, is as in `ENGINE_DEFAULTS`
 *
 * @throws MemoryError UNAVAILABLE if the database cannot be used or Node is too old
 * @throws TypeError for a database that is no text or named twice, an unknown option, a number out of its range
 * (ENGINE_RANGES), a `redact` that is not a boolean, an embedder of no known kind, a setting that the embedder does not use,
 * or a language model without an address or the reverse
 */
export async function openEngine(
  database: string | (DatabaseOptions & Partial<EngineSettings>),
  options: Partial<EngineSettings> = {},
): Promise<Engine> {
  const oldNode = explainOldNode();
  if (oldNode !== undefined) throw new MemoryError('UNAVAILABLE', oldNode);
  for (const name of ['dbPath', 'databaseUrl']) {
    if (name in options) throw new TypeError(`${name} is no option: the first argument says which database`);
  }
  return open({ ...ENGINE_DEFAULTS, telemetry: processWarnings, ...namedBy(database), ...withoutUndefined(options) });
}

/** Throws TypeError for a database that is no text, or whose options are among others as well. */
function namedBy(database: string | (DatabaseOptions & Partial<EngineSettings>)): DatabaseOptions {
  if (typeof database === 'object' && database !== null) return withoutUndefined(database);
  if (typeof database === 'string' && database !== '') return databaseNamed(database);
  throw new TypeError('database must be the path of a file or the address of a PostgreSQL database');
}

// Callers whose types say no more than that a property is optional, or that have none, may pass undefined for it.
function withoutUndefined<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

const processWarnings: Telemetry = {
  report({ level, component, event, facts, error }) {
    if (level !== 'warn' && level !== 'error') return;
    const cause = error instanceof Error ? `: ${error.message}` : '';
    const detail = facts && JSON.stringify(facts);
    process.emitWarning(`memoryd: ${component} ${event}${cause}`, {
      type: 'MemorydWarning',
      ...(detail && { detail }),
    });
  },
};

async function open(options: EngineOptions): Promise<Engine> {
  const { clock = systemClock } = options;
  assertKnown(options);
  assertSettings(options);
  const parts = await openParts({ ...options, clock });
  const { storage, health, embedding, events, keys } = parts;
  const core = createCore({ ...options, clock }, parts);
  const schedule = new ConsolidationSchedule({
    storage,
    consolidator: core.consolidator,
    clock,
    telemetry: options.telemetry,
    intervalMs: core.consolidationIntervalMs,
    workingAgeMs: options.workingAgeSeconds * 1000,
    alwaysNamespace: DEFAULTS.namespace,
  });
  if (core.consolidationIntervalMs > 0) schedule.start();
  async function close(): Promise<void> {
    events.close();
    const looked = schedule.stop();
    await core.consolidator.stop();
    await looked;
    await embedding?.stop();
    await core.accesses.flush();
    await storage.close();
  }
  let closed: Promise<void> | undefined;
  return {
    namespace(name, scope = 'operate', keyId) {
      assertKeepableNamespace(name);
      return withScope(memoryApi(core, name, scope, keyId));
    },
    keys,
    namespaces: getNamespaces(storage, clock),
    backup: (signal) => storage.backup(signal),
    databaseProblem: () => health.problem(),
    databaseCondition: () => storage.condition(),
    noteBackup: () => storage.noteBackup(clock.now()),
    embedder: () => embedding?.health ?? { state: 'off' },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** What has to be opened, and closed again where that fails. */
interface OpenParts {
  storage: Storage;
  health: DatabaseHealth;
  lease: Lease;
  distiller: DecliningDistiller;
  embedding: EmbeddingQueue | undefined;
  events: EventLog;
  keys: KeyRing;
  /** See `Storage.secret`. */
  secret: string;
}

type Timed = EngineOptions & { clock: Clock };

async function openParts(options: Timed): Promise<OpenParts> {
  const { telemetry, clock, ids = uuidV7 } = options;
  const openEmbedder = createEmbedder(options);
  const distiller = await createDistiller(options, clock);
  const early = openEmbedder && openedEarly(openEmbedder);
  const {
    storage: opened,
    lease,
    keys,
    notices,
  } = await openStorage({
    ...options,
    quota: toQuotas(options),
  }).catch(async (error) => {
    await early?.abandon();
    throw error;
  });
  const health = new DatabaseHealth(opened);
  const storage = watchedBy(health, opened);
  const opening = early && options.keepModel ? onlyModelInUse(early.open, storage, clock) : early?.open;
  const embedding = opening && new EmbeddingQueue(opening, storage, telemetry);
  const events = new EventLog(clock, ids, { notices, ...streamLimits(options) });
  const keyRing = new KeyRing(keys, clock, { notices });
  async function begin(): Promise<string> {
    await assertWhole(storage);
    await embedding?.start();
    await Promise.all([events.start(), keyRing.start()]);
    return storage.secret();
  }
  const secret = await begin().catch(async (error) => {
    events.close();
    await embedding?.stop();
    await early?.abandon();
    await storage.close();
    throw error;
  });
  return { storage, health, lease, distiller, embedding, events, keys: keyRing, secret };
}

function createCore(options: Timed, { storage, lease, distiller, embedding, events, secret }: OpenParts): Core {
  const { telemetry, clock, ids = uuidV7 } = options;
  const recalling = { storage, clock, ...(embedding && { embedding }) };
  const consolidator = new Consolidator({
    ...recalling,
    lease,
    ids,
    telemetry,
    distiller,
    holder: randomUUID(),
    archiveMs: options.archiveDays * DAY_MS,
    maxima: { episodic: options.episodicMax, semantic: options.semanticMax },
    events,
    recalled: recalledBy(recalling),
  });
  return {
    ...recalling,
    arrivals: new ArrivalClock(clock),
    ids,
    telemetry,
    accesses: new AccessLog(storage, telemetry),
    consolidator,
    events,
    seal: syntheticIvSeal(secret),
    distiller,
    thesaurus: english,
    ...(options.redact === 'on' && { redactor: knownFormats }),
    consolidationIntervalMs: options.consolidationIntervalSeconds * 1000,
    timezone: getTimezone(options),
    maxAnswerBytes: options.maxAnswerBytes,
  };
}

/** Throws TypeError for what is no option: misspelt, it would be as if it were not there, and its default would hold. */
function assertKnown(options: EngineOptions): void {
  const known: readonly string[] = [...ENGINE_SETTING_NAMES, ...DATABASE_OPTION_NAMES];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`there is no option ${unknown}`);
}

/** Throws TypeError, which names the setting, for a value that no type would allow: callers may have no types. */
function assertSettings(options: EngineOptions): void {
  const { redact = 'off', tokenStates = 'on' } = options;
  const { namespace, user } = toQuotas(options);
  const { maxStreams: maxEventStreams, maxStreamsOfNamespace: maxEventStreamsPerNamespace } = streamLimits(options);
  const streams = { maxEventStreams, maxEventStreamsPerNamespace };
  const ofNamespace = { namespaceMaxMemories: namespace.memories, namespaceMaxBytes: namespace.bytes };
  const ofUser = { userMaxMemories: user.memories, userMaxBytes: user.bytes };
  const settings = { ...options, ...streams, ...ofNamespace, ...ofUser };
  for (const name of Object.keys(ENGINE_RANGES) as (keyof typeof ENGINE_RANGES)[]) {
    const [least, most] = ENGINE_RANGES[name];
    const isInRange = Number.isInteger(settings[name]) && settings[name] >= least && settings[name] <= most;
    if (!isInRange) throw new TypeError(`${name} must be a whole number from ${least} to ${most}`);
  }
  if (!['on', 'off'].includes(redact)) throw new TypeError('redact must be on or off');
  if (!['on', 'off'].includes(tokenStates)) throw new TypeError('tokenStates must be on or off');
  getTimezone(options);
  assertEmbeddingSettings(options);
}

function assertEmbeddingSettings(options: EngineOptions): void {
  for (const name of ['embeddingQueryPrefix', 'embeddingPassagePrefix'] as const) {
    const prefix: unknown = options[name] ?? '';
    if (typeof prefix === 'string' && prefix.length <= MAX_PREFIX_LENGTH) continue;
    throw new TypeError(`${name} must be a text of at most ${MAX_PREFIX_LENGTH} characters`);
  }
  const { embeddingPooling = 'mean' } = options;
  if (!POOLINGS.includes(embeddingPooling)) throw new TypeError(`embeddingPooling must be ${POOLINGS.join(', ')}`);
  const { name, needs } = findIgnoredSetting(options) ?? {};
  if (name !== undefined)
    throw new TypeError(`${name} needs an embedder ${needs}, and embedder is ${options.embedder}`);
}

function streamLimits({
  maxEventStreams = ENGINE_DEFAULTS.maxEventStreams,
  maxEventStreamsPerNamespace = ENGINE_DEFAULTS.maxEventStreamsPerNamespace,
}: EngineSettings): EventLimits {
  return { maxStreams: maxEventStreams, maxStreamsOfNamespace: maxEventStreamsPerNamespace };
}

function getTimezone({ timezone = ENGINE_DEFAULTS.timezone }: EngineSettings): string {
  const zone = findTimeZone(timezone);
  if (zone === undefined) throw new TypeError(`timezone must ${TIME_ZONE_MUST}`);
  return zone;
}

/** Quotas of the namespaces and users that have none of their own. */
function toQuotas({
  namespaceMaxMemories = ENGINE_DEFAULTS.namespaceMaxMemories,
  namespaceMaxBytes = ENGINE_DEFAULTS.namespaceMaxBytes,
  userMaxMemories = ENGINE_DEFAULTS.userMaxMemories,
  userMaxBytes = ENGINE_DEFAULTS.userMaxBytes,
}: EngineSettings): Quotas {
  return {
    namespace: { memories: namespaceMaxMemories, bytes: namespaceMaxBytes },
    user: { memories: userMaxMemories, bytes: userMaxBytes },
  };
}

/** Throws UNAVAILABLE for a database to which only a part of another has come yet. */
async function assertWhole(storage: Storage): Promise<void> {
  if (!(await storage.isMigrating())) return;
  throw new MemoryError('UNAVAILABLE', 'a migration to this database has not ended; `memoryd migrate` goes on with it');
}

/**
 * How the embedder that the options name is opened; undefined where there is none. Who asks no other service should not wait
 * for what does to load.
 */
function createEmbedder({
  embedder,
  embeddingUrl: url,
  embeddingApiKey: apiKey,
  tokenStates,
  embeddingQueryPrefix: query,
  embeddingPassagePrefix: memory,
  embeddingPooling: pooling,
}: EngineSettings): OpenEmbedder | undefined {
  const [, kind, model = ''] = /^([^:]*):?(.*)$/s.exec(embedder) ?? [];
  switch (kind) {
    case 'none':
      return undefined;
    case 'minilm':
      return async () => (tokenStates === 'off' ? withoutStates(await openMiniLm()) : openMiniLm());
    case 'openai':
      return async (signal) => {
        const { openOpenAiCompatible } = await import('./embedding/openai-compatible.ts');
        const prefixes = { query: query ?? '', memory: memory ?? '' };
        return openOpenAiCompatible({ url, model, prefixes, ...(apiKey && { apiKey }) }, signal);
      };
    case 'transformers':
      return (signal) => openTransformers(model, signal, { prefixes: { query, memory }, pooling });
    default:
      throw new TypeError(`no embedder is called ${embedder}`);
  }
}

/** The language model that the options name, with the default for whatever it fails at; or the default alone. */
async function createDistiller(
  { llmUrl: url, llmModel: model, llmApiKey: apiKey, telemetry }: EngineSettings,
  clock: Clock,
): Promise<DecliningDistiller> {
  if (!url && !model) return extractive;
  if (!url || !model) throw new TypeError('llmUrl and llmModel are given together');
  const { llmDistiller } = await import('./distilling/language-model.ts');
  return withFallback(llmDistiller({ url, model, ...(apiKey && { apiKey }) }), extractive, { telemetry, clock });
}
