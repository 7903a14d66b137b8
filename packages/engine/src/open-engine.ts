import { randomUUID } from 'node:crypto';
import { DEFAULTS, MemoryError, TIME_ZONE_MUST, withScope } from '@memoryd/contract';
import type { Storage, Telemetry } from '@memoryd/core';
import type { DecliningDistiller, OpenEmbedder, Reranker } from '@memoryd/core/models';
import type { Core } from '@memoryd/core/operations';
import {
  AccessLog,
  ArrivalClock,
  assertKeepableNamespace,
  ConsolidationSchedule,
  Consolidator,
  CountCache,
  createHooks,
  createRecallForCheck,
  createSeal,
  EmbeddingQueue,
  type EventLimits,
  EventLog,
  extractive,
  ForgottenScopes,
  GivenMemories,
  getNamespaces,
  hookApi,
  KeyRing,
  MemoryMaps,
  memoryApi,
  openEmbedderEarly,
  RememberedRecalls,
  Reranking,
  RunningImports,
  requireModelInUse,
  systemClock,
  toScopedStats,
  uuidV7,
  withFallback,
} from '@memoryd/core/operations';
import type { Clock, Lease, Quotas, Seal } from '@memoryd/core/ports';
import { explainOldNode } from '@memoryd/engine/node-version';
import { english, findTimeZone } from '@memoryd/search';
import { DatabaseHealth, withHealth } from './database-health.ts';
import { openMiniLm, withoutStates } from './embedding/minilm.ts';
import { openTransformers } from './embedding/transformers.ts';
import type { Engine, EngineOptions, EngineSettings } from './engine.ts';
import {
  ENGINE_DEFAULTS,
  ENGINE_RANGES,
  ENGINE_SETTING_NAMES,
  findIgnoredSetting,
  INPUT_TYPE_MUST,
  isInputType,
  MAX_PREFIX_LENGTH,
  POOLINGS,
  RERANK_FORMS,
} from './engine-defaults.ts';
import { DATABASE_OPTION_NAMES, type DatabaseOptions, openStorage, parseDatabase } from './open-storage.ts';
import { knownFormats } from './redacting/known-formats.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Opens a database with one embedding model for all its namespaces, and starts automatic consolidation. While the model
 * cannot be opened, the engine reports the failure, recalls by words alone, and retries. Other processes, including
 * servers, may have the same database open. Warnings and errors become warnings of the process, unless `telemetry`
 * receives them.
 *
 * @param database the path of a file, which is created if it does not exist, the address of a PostgreSQL database
 * (`postgres://…`), or an object with the path (`dbPath`) or the address (`databaseUrl`) and other options
 * @param options absent or undefined options have the values of `ENGINE_DEFAULTS`
 *
 * @throws MemoryError UNAVAILABLE if the database cannot be used, a migration to the database is incomplete, or Node is
 * too old
 * @throws TypeError for an invalid or ambiguous database, an unknown option, a number out of range (ENGINE_RANGES), an
 * invalid value of another option, an unknown embedder, a setting that the embedder does not use, only one of
 * `llmUrl` and `llmModel`, or `rerankModel` without `rerankUrl`
 */
export async function openEngine(
  database: string | (DatabaseOptions & Partial<EngineSettings>),
  options: Partial<EngineSettings> = {},
): Promise<Engine> {
  const oldNode = explainOldNode();
  if (oldNode !== undefined) throw new MemoryError('UNAVAILABLE', oldNode);
  for (const name of ['dbPath', 'databaseUrl']) {
    if (name in options) throw new TypeError(`unknown option ${name}: pass the database as the first argument`);
  }
  return open({
    ...ENGINE_DEFAULTS,
    telemetry: processWarnings,
    ...toDatabaseOptions(database),
    ...withoutUndefined(options),
  });
}

/** Returns the database options. Throws TypeError for an invalid database. */
function toDatabaseOptions(database: string | (DatabaseOptions & Partial<EngineSettings>)): DatabaseOptions {
  if (typeof database === 'object' && database !== null) return withoutUndefined(database);
  if (typeof database === 'string' && database !== '') return parseDatabase(database);
  throw new TypeError('database must be the path of a file or the address of a PostgreSQL database');
}

// Removes undefined options. Callers without types, or without exactOptionalPropertyTypes, may pass undefined for an
// absent option.
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

/** The options of an engine, with the defaults of those that were absent. */
type FilledOptions = EngineOptions & Required<Pick<EngineSettings, keyof typeof ENGINE_DEFAULTS>>;

async function open(options: FilledOptions): Promise<Engine> {
  const { clock = systemClock } = options;
  assertKnown(options);
  assertSettings(options);
  const parts = await openParts({ ...options, clock });
  const { storage, health, embedding, reranking, events, keys } = parts;
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
    reranking?.close();
    const stopped = schedule.stop();
    await core.consolidator.stop();
    await stopped;
    await core.maps.close();
    await embedding?.stop();
    await core.accesses.flush();
    health.stop();
    await storage.close();
  }
  let closed: Promise<void> | undefined;
  return {
    namespace(name, scope = 'operate', keyId) {
      assertKeepableNamespace(name);
      return withScope(memoryApi(core, name, scope, keyId));
    },
    hookMemories(name, keyId) {
      assertKeepableNamespace(name);
      return withScope(hookApi({ ...core, redactor: knownFormats }, name, keyId));
    },
    keys,
    namespaces: getNamespaces(storage, clock, (namespace) => core.forgotten.publish({ namespace })),
    hooks: createHooks(storage),
    backup: (signal) => storage.backup(signal),
    async databaseState(scope = 'operate') {
      const { stats, ...state } = await health.getState();
      return { ...state, stats: stats && toScopedStats(stats, scope) };
    },
    databaseCondition: () => storage.condition(),
    recordBackup: () => storage.recordBackup(clock.now()),
    embedder: () => embedding?.health ?? { state: 'off' },
    reranker: () => reranking?.health ?? { state: 'off' },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** The opened resources of an engine. */
interface OpenParts {
  storage: Storage;
  health: DatabaseHealth;
  lease: Lease;
  distiller: DecliningDistiller;
  embedding: EmbeddingQueue | undefined;
  reranking: Reranking | undefined;
  events: EventLog;
  forgotten: ForgottenScopes;
  maps: MemoryMaps;
  recalls: RememberedRecalls | undefined;
  counts: CountCache;
  keys: KeyRing;
  seal: Seal;
}

type OptionsWithClock = FilledOptions & { clock: Clock };

async function openParts(options: OptionsWithClock): Promise<OpenParts> {
  const { telemetry, clock, ids = uuidV7 } = options;
  const openEmbedder = createEmbedder(options);
  const distiller = await createDistiller(options, clock);
  const reranker = await createReranker(options);
  const early = openEmbedder && openEmbedderEarly(openEmbedder);
  const {
    storage: opened,
    lease,
    keys,
    notices,
  } = await openStorage({ ...options, quota: toQuotas(options) }).catch(async (error) => {
    await early?.abandon();
    throw error;
  });
  const health = new DatabaseHealth(opened, clock, telemetry);
  const storage = withHealth(health, opened);
  const opening = early && options.keepModel ? requireModelInUse(early.open, storage, clock) : early?.open;
  const embedding = opening && new EmbeddingQueue(opening, storage, telemetry);
  const reranking =
    reranker && new Reranking(reranker, { storage, clock, telemetry, timeoutMs: options.rerankTimeoutMs });
  const counts = new CountCache();
  const events = new EventLog(clock, ids, { notices, counts, ...getStreamLimits(options) });
  const maps = new MemoryMaps({ storage, clock, telemetry });
  const recalls = options.logQueries ? new RememberedRecalls() : undefined;
  const forgotten = new ForgottenScopes([counts, maps, ...(recalls ? [recalls] : [])], notices);
  const keyRing = new KeyRing(keys, clock, { notices });
  async function begin(): Promise<Seal> {
    await assertNotMigrating(storage);
    await embedding?.start();
    const seal = createSeal(await storage.secret());
    await Promise.all([events.start(seal), forgotten.start(seal), keyRing.start()]);
    return seal;
  }
  const seal = await begin().catch(async (error) => {
    events.close();
    await embedding?.stop();
    await early?.abandon();
    await storage.close();
    throw error;
  });
  const caches = { forgotten, counts, maps, recalls };
  return { storage, health, lease, distiller, embedding, reranking, events, ...caches, keys: keyRing, seal };
}

function createCore(
  options: OptionsWithClock,
  { storage, lease, distiller, embedding, reranking, events, forgotten, counts, maps, recalls, seal }: OpenParts,
): Core {
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
    recalled: createRecallForCheck(recalling),
  });
  return {
    ...recalling,
    arrivals: new ArrivalClock(clock),
    ids,
    telemetry,
    accesses: new AccessLog(storage, telemetry),
    given: new GivenMemories(),
    ...(recalls && { recalls }),
    forgotten,
    maps,
    consolidator,
    events,
    counts,
    seal,
    distiller,
    ...(reranking && { reranking }),
    thesaurus: english,
    ...(options.redact === 'on' && { redactor: knownFormats }),
    importRedactor: knownFormats,
    runningImports: new RunningImports(),
    consolidationIntervalMs: options.consolidationIntervalSeconds * 1000,
    timezone: getTimezone(options),
    maxAnswerBytes: options.maxAnswerBytes,
  };
}

/** Throws TypeError for an unknown option. Otherwise, a misspelled option would silently have its default value. */
function assertKnown(options: FilledOptions): void {
  const known: readonly string[] = [...ENGINE_SETTING_NAMES, ...DATABASE_OPTION_NAMES];
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`unknown option ${unknown}; remove the option, or correct its name`);
}

/**
 * Throws TypeError with the name of the setting for an invalid value. The check is needed because callers may not use
 * types.
 */
function assertSettings(options: FilledOptions): void {
  const { redact = 'off', tokenStates = 'on', logQueries = false, rerankForm } = options;
  for (const name of Object.keys(ENGINE_RANGES) as (keyof typeof ENGINE_RANGES)[]) {
    const [min, max] = ENGINE_RANGES[name];
    const isInRange = Number.isInteger(options[name]) && options[name] >= min && options[name] <= max;
    if (!isInRange) throw new TypeError(`${name} must be a whole number from ${min} to ${max}`);
  }
  if (!['on', 'off'].includes(redact)) throw new TypeError('redact must be on or off');
  if (typeof logQueries !== 'boolean') throw new TypeError('logQueries must be true or false');
  if (!['on', 'off'].includes(tokenStates)) throw new TypeError('tokenStates must be on or off');
  if (!RERANK_FORMS.includes(rerankForm)) throw new TypeError(`rerankForm must be one of ${RERANK_FORMS.join(', ')}`);
  getTimezone(options);
  assertEmbeddingSettings(options);
}

function assertEmbeddingSettings(options: FilledOptions): void {
  for (const name of ['embeddingQueryPrefix', 'embeddingPassagePrefix'] as const) {
    const prefix: unknown = options[name] ?? '';
    if (typeof prefix === 'string' && prefix.length <= MAX_PREFIX_LENGTH) continue;
    throw new TypeError(`${name} must be a string of at most ${MAX_PREFIX_LENGTH} characters`);
  }
  for (const name of ['embeddingQueryInputType', 'embeddingPassageInputType'] as const) {
    const type: unknown = options[name] ?? '';
    if (typeof type !== 'string' || !isInputType(type)) throw new TypeError(`${name} must ${INPUT_TYPE_MUST}`);
  }
  const { embeddingPooling = 'mean' } = options;
  if (!POOLINGS.includes(embeddingPooling))
    throw new TypeError(`embeddingPooling must be one of ${POOLINGS.join(', ')}`);
  const { name, needs } = findIgnoredSetting(options) ?? {};
  if (name !== undefined)
    throw new TypeError(`${name} requires the embedder ${needs}, but embedder is ${options.embedder}`);
}

function getStreamLimits({ maxEventStreams, maxEventStreamsPerNamespace }: FilledOptions): EventLimits {
  return { maxStreams: maxEventStreams, maxStreamsPerNamespace: maxEventStreamsPerNamespace };
}

function getTimezone({ timezone }: FilledOptions): string {
  const zone = findTimeZone(timezone);
  if (zone === undefined) throw new TypeError(`timezone must ${TIME_ZONE_MUST}`);
  return zone;
}

/** Returns the default quotas of namespaces and users. */
function toQuotas({ namespaceMaxMemories, namespaceMaxBytes, userMaxMemories, userMaxBytes }: FilledOptions): Quotas {
  return {
    namespace: { memories: namespaceMaxMemories, bytes: namespaceMaxBytes },
    user: { memories: userMaxMemories, bytes: userMaxBytes },
  };
}

/** Throws UNAVAILABLE if a migration to the database is incomplete. */
async function assertNotMigrating(storage: Storage): Promise<void> {
  if (!(await storage.isMigrating())) return;
  throw new MemoryError(
    'UNAVAILABLE',
    'a migration to this database has not ended; run `memoryd migrate` again to finish it',
  );
}

/**
 * Returns a function that opens the configured embedder; undefined for `none`. Throws TypeError for an unknown
 * embedder. The client for remote models is imported on demand, because the other embedders do not need the client.
 */
function createEmbedder({
  embedder,
  modelThreads: maxThreads,
  embeddingUrl: url,
  embeddingApiKey: apiKey,
  tokenStates,
  embeddingQueryPrefix: query,
  embeddingPassagePrefix: memory,
  embeddingPooling: pooling,
  embeddingQueryInputType: queryType = '',
  embeddingPassageInputType: memoryType = '',
}: FilledOptions): OpenEmbedder | undefined {
  const [, kind, model = ''] = /^([^:]*):?(.*)$/s.exec(embedder) ?? [];
  switch (kind) {
    case 'none':
      return undefined;
    case 'minilm':
      return async () => {
        const minilm = await openMiniLm({ maxThreads });
        return tokenStates === 'off' ? withoutStates(minilm) : minilm;
      };
    case 'openai':
      return async (signal) => {
        const { openOpenAiCompatible } = await import('./embedding/openai-compatible.ts');
        const prefixes = { query: query ?? '', memory: memory ?? '' };
        const inputTypes = { query: queryType, memory: memoryType };
        return openOpenAiCompatible({ url, model, prefixes, inputTypes, ...(apiKey && { apiKey }) }, signal);
      };
    case 'transformers':
      return (signal) => openTransformers(model, signal, { prefixes: { query, memory }, pooling });
    default:
      throw new TypeError(`embedder must be none, minilm, openai:MODEL or transformers:MODEL, but is ${embedder}`);
  }
}

/**
 * Returns a distiller with the configured language model, and the extractive distiller as fallback. Returns the
 * extractive distiller if no language model is configured.
 */
async function createDistiller(
  { llmUrl: url, llmModel: model, llmApiKey: apiKey, telemetry }: EngineSettings,
  clock: Clock,
): Promise<DecliningDistiller> {
  if (!url && !model) return extractive;
  if (!url || !model) throw new TypeError('llmUrl and llmModel must be set together');
  const { createLanguageModelDistiller } = await import('./distilling/language-model.ts');
  return withFallback(createLanguageModelDistiller({ url, model, ...(apiKey && { apiKey }) }), extractive, {
    telemetry,
    clock,
  });
}

/** Returns the configured reranker; undefined without one. */
async function createReranker({
  rerankUrl: url,
  rerankModel: model,
  rerankApiKey: apiKey,
  rerankForm,
}: FilledOptions): Promise<Reranker | undefined> {
  if (!url && model) throw new TypeError('rerankModel requires rerankUrl');
  if (!url) return undefined;
  const { createHttpReranker } = await import('./reranking/http-reranker.ts');
  return createHttpReranker({ url, ...(model && { model }), ...(apiKey && { apiKey }) }, rerankForm);
}
