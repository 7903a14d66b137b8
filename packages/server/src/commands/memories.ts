import type { MemoryClient, MemoryClientOptions } from '@memoryd/client';
import { assertNamespace, type MemoryApi, type MemoryScope, type OwnScopeRequest, withScope } from '@memoryd/contract';
import type { Engine } from '@memoryd/engine';
import { cannotOpen } from '@memoryd/engine/defaults';
import { type Command, Option } from 'commander';
import { atService } from '../place-errors.ts';
import { engineSettings, engineSettingsWithoutModel } from '../settings/engine-settings.ts';
import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Environment, Flags, Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type CommonFlags, JSON_OPTION, UTC_OPTION, withOptions } from './command.ts';
import { assertThere, isRemote, NAMESPACE_OPTION } from './database.ts';
import { warn, warnings } from './warnings.ts';

/** Requirements of a command that opens a database itself. */
export interface Needs {
  /** Opens the embedding model. Without the model, nothing is embedded. */
  model?: true;
  /** Creates a missing database. */
  make?: true;
}

/** Access of a command to the memories of a service or a database. */
export interface Memories {
  api: MemoryApi;
  /**
   * Returns the number of stored memories whose embedding is pending; 0 if the embedder is not ready, or if the command
   * uses a service.
   */
  countPending(): Promise<number>;
}

const KEY_OPTION = new Option(
  '--api-key <text>',
  'API key for the service at --url. Other users of this machine can read flags. Environment: SERVICE_API_KEY.',
);

/** Maximum retries of a request; low, because the user is waiting. */
export const RETRIES = 2;

const { description: namespaceHelp, flags: namespaceFlags } = NAMESPACE_OPTION;

const USER_OPTION = new Option('--user <id>', 'Use only the memories of this user; new memories belong to the user.');
const AGENT_OPTION = new Option(
  '--agent <id>',
  'Use only the memories of this agent; new memories belong to the agent.',
);
const SHARED_OPTION = new Option(
  '--shared',
  'With --user, read memories without a user too; with --agent, memories without an agent too.',
);

/** The options for the user and agent whose memories a command changes. */
export const OWN_SCOPE_OPTIONS: readonly Option[] = [USER_OPTION, AGENT_OPTION];

/** The options for the user and agent whose memories a command reads. */
export const SCOPE_OPTIONS: readonly Option[] = [...OWN_SCOPE_OPTIONS, SHARED_OPTION];

/**
 * Returns the user and agent that flags name; undefined if flags name neither. Throws a UsageError for `--shared`
 * without a user or agent.
 */
export function toScope({ user, agent, shared }: Flags): MemoryScope | undefined {
  const scope = {
    ...(typeof user === 'string' && { userId: user }),
    ...(typeof agent === 'string' && { agentId: agent }),
  };
  if (Object.keys(scope).length > 0) return { ...scope, shared: shared === true };
  if (shared) throw new UsageError('--shared needs --user or --agent');
  return undefined;
}

/** Returns the user and agent that flags name as fields of a request. */
export function toOwner({ user, agent }: Flags): OwnScopeRequest {
  return {
    ...(typeof user === 'string' && { user_id: user }),
    ...(typeof agent === 'string' && { agent_id: agent }),
  };
}

const PLACE_GROUP = 'Database or service:';

/**
 * The options that name a service or a database. Copies, because `helpGroup` changes an option, and other commands show
 * the original options without a group.
 */
export const PLACE_OPTIONS: readonly Option[] = [...settingOptions(['dbPath', 'databaseUrl', 'url']), KEY_OPTION].map(
  ({ flags, description }) => new Option(flags, description).helpGroup(PLACE_GROUP),
);

export const NAMESPACE_OPTION_AT_URL = new Option(
  namespaceFlags,
  `${namespaceHelp} A service at --url uses the namespace of the API key. Default: ${NAMESPACE_OPTION.defaultValue}.`,
).helpGroup(PLACE_GROUP);
export const NAMESPACE_AT_URL = '--namespace is for a database; a service at --url uses the namespace of the API key';

/** The options that name a service, or a database and a namespace. */
export const MEMORY_OPTIONS: readonly Option[] = [...PLACE_OPTIONS, NAMESPACE_OPTION_AT_URL];

/**
 * Adds the options of every command on memories. Without `scopeOptions`, the command applies to the whole namespace.
 */
export function withMemoryOptions(command: Command, scopeOptions: readonly Option[] = []): Command {
  return withOptions(command, [...scopeOptions, JSON_OPTION, UTC_OPTION, ...MEMORY_OPTIONS]);
}

/** Runs `work` with the memories of the service or database that flags, environment and settings file name. */
export async function withMemories<T>(
  flags: CommonFlags,
  env: Environment,
  needs: Needs,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(flags, env);
  const scope = toScope(flags);
  const scopedWork = (memories: Memories) =>
    work(scope ? { ...memories, api: withScope(memories.api).scope(scope) } : memories);
  return isRemote(flags, settings)
    ? useService(flags, settings, scopedWork)
    : openDatabase(flags, settings, needs, scopedWork);
}

async function useService<T>(
  flags: CommonFlags,
  settings: Settings,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  if (flags.namespace !== undefined) {
    throw new UsageError(NAMESPACE_AT_URL);
  }
  const api = await serviceAt(settings);
  return atService(settings.url, () => work({ api, countPending: async () => 0 }));
}

/** Returns a client of the service that settings name. */
export async function serviceAt(
  { url, apiKey }: Pick<Settings, 'url' | 'apiKey'>,
  options: Pick<MemoryClientOptions, 'attemptTimeoutMs'> = {},
): Promise<MemoryClient> {
  const { MemoryClient } = await import('@memoryd/client');
  return new MemoryClient({
    url,
    retries: RETRIES,
    ...options,
    onWarning: warn,
    ...(apiKey !== undefined && { apiKey }),
  });
}

async function openDatabase<T>(
  flags: CommonFlags,
  settings: Settings,
  needs: Needs,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  assertNoApiKey(flags);
  if (!needs.make) await assertThere(settings.database);
  const namespace = typeof flags.namespace === 'string' ? flags.namespace : NAMESPACE_OPTION.defaultValue;
  assertNamespace(namespace);
  const engine = await openEngine(settings, needs);
  const api = engine.namespace(namespace);
  const isEmbedding = () => engine.embedder().state === 'ready';
  try {
    return await work({ api, countPending: async () => (isEmbedding() ? (await api.stats()).pending_embeddings : 0) });
  } finally {
    await engine.close();
  }
}

/** Throws a UsageError for the flag `--api-key` of a command that uses a database. */
export function assertNoApiKey({ apiKey }: Flags): void {
  if (apiKey === undefined) return;
  throw new UsageError('--api-key needs --url; remove --api-key, because a database needs no API key');
}

async function openEngine(settings: Settings, needs: Needs): Promise<Engine> {
  const engine = await import('@memoryd/engine');
  try {
    return await engine.openEngine({
      ...(needs.model ? engineSettings(settings) : engineSettingsWithoutModel(settings)),
      ...settings.database,
      keepModel: true,
      // Disabled: a command ends before a background consolidation could run.
      consolidationIntervalSeconds: 0,
      telemetry: warnings(),
    });
  } catch (cause) {
    throw cannotOpen(settings.database, cause);
  }
}
