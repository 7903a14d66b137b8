import type { MemoryClient } from '@memoryd/client';
import { type MemoryApi, type MemoryScope, withScope } from '@memoryd/contract';
import { MemoryError } from '@memoryd/contract/errors';
import type { Engine, Telemetry } from '@memoryd/engine';
import { type Command, Option } from 'commander';
import { cannotOpen } from '../database-name.ts';
import { withAdvice } from '../no-answer.ts';
import { engineSettings, engineSettingsWithoutModel } from '../settings/engine-settings.ts';
import { loadSettings } from '../settings/file.ts';
import { settingOptions } from '../settings/options.ts';
import type { Environment, Flags, Settings } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AnswerFlags, JSON_OPTION, withOptions } from './command.ts';
import { assertThere, NAMESPACE_OPTION } from './database.ts';
import { note } from './output.ts';

/** What a command needs of a database that it opens itself. */
export interface Needs {
  /** Vectors: the model is opened. Without it, nothing is embedded. */
  model?: true;
  /** A database that is not there is made. */
  make?: true;
}

/** Memories that a command works with. */
export interface Memories {
  api: MemoryApi;
  /** How many memories still get their vectors by the model that is open here; 0 where none is, or it does not work. */
  waiting(): Promise<number>;
}

const KEY_OPTION = new Option(
  '--api-key <text>',
  'API key to show to the service at --url. As a flag, other users of the machine may read it. Environment: ' +
    'SERVICE_API_KEY.',
);

/** Attempts after the first: a person waits. */
const RETRIES = 2;

const { description: ofNamespace, flags: namespaceFlags } = NAMESPACE_OPTION;

const USER_OPTION = new Option('--user <id>', 'Only the memories of this user; what is stored becomes theirs.');
const AGENT_OPTION = new Option('--agent <id>', 'Only the memories of this agent; what is stored becomes theirs.');
const SHARED_OPTION = new Option(
  '--shared',
  'With --user, read memories without a user too; with --agent, memories without an agent too.',
);

/** The options that say whose memories a command changes. */
export const OWN_SCOPE_OPTIONS: readonly Option[] = [USER_OPTION, AGENT_OPTION];

/** The options that say whose memories a command reads. */
export const SCOPE_OPTIONS: readonly Option[] = [...OWN_SCOPE_OPTIONS, SHARED_OPTION];

/** Returns whose memories flags name; undefined where they name nobody. */
export function toScope({ user, agent, shared }: Flags): MemoryScope | undefined {
  const scope = {
    ...(typeof user === 'string' && { userId: user }),
    ...(typeof agent === 'string' && { agentId: agent }),
  };
  if (Object.keys(scope).length > 0) return { ...scope, shared: shared === true };
  if (shared) throw new UsageError('--shared needs --user or --agent');
  return undefined;
}

/** The options that say which service or which database. */
export const PLACE_OPTIONS: readonly Option[] = [...settingOptions(['dbPath', 'databaseUrl', 'url']), KEY_OPTION];

export const NAMESPACE_OPTION_AT_URL = new Option(
  namespaceFlags,
  `${ofNamespace} At --url it is that of the key. Default: ${NAMESPACE_OPTION.defaultValue}.`,
);
export const NAMESPACE_AT_URL = '--namespace is for a database; at --url it is that of the API key';

/** The options that say where memories are. */
export const MEMORY_OPTIONS: readonly Option[] = [...PLACE_OPTIONS, NAMESPACE_OPTION_AT_URL];

/** Adds the options of every command on memories. Without `scopeOptions`, the command is about the whole namespace. */
export function withMemoryOptions(command: Command, scopeOptions: readonly Option[] = []): Command {
  return withOptions(command, [...MEMORY_OPTIONS, ...scopeOptions, JSON_OPTION]);
}

/** Does work with memories, wherever flags, environment and settings file say that they are. */
export async function withMemories<T>(
  flags: AnswerFlags,
  env: Environment,
  needs: Needs,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(flags, env);
  const scope = toScope(flags);
  const scopedWork = (memories: Memories) =>
    work(scope ? { ...memories, api: withScope(memories.api).scope(scope) } : memories);
  return isRemote(flags, settings)
    ? askService(flags, settings, scopedWork)
    : openDatabase(flags, settings, needs, scopedWork);
}

/** Whether a running service is asked. The one place that chooses. */
export function isRemote(flags: Flags, { url }: Settings): boolean {
  const flag = flags.dbPath !== undefined ? '--db-path' : flags.databaseUrl !== undefined && '--database-url';
  if (!flag) return url !== '';
  if (flags.url !== undefined) throw new UsageError(`${flag} and --url name two places; give one of them`);
  return false;
}

async function askService<T>(
  flags: AnswerFlags,
  settings: Settings,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  if (flags.namespace !== undefined) {
    throw new UsageError(NAMESPACE_AT_URL);
  }
  return withAdvice(await serviceAt(settings), (api) => work({ api, waiting: async () => 0 }));
}

/** The service that settings name. */
export async function serviceAt({ url, apiKey }: Settings): Promise<MemoryClient> {
  const { MemoryClient } = await import('@memoryd/client');
  return new MemoryClient({ url, retries: RETRIES, onWarning: warn, ...(apiKey !== undefined && { apiKey }) });
}

async function openDatabase<T>(
  flags: AnswerFlags,
  settings: Settings,
  needs: Needs,
  work: (memories: Memories) => Promise<T>,
): Promise<T> {
  if (flags.apiKey !== undefined) throw new UsageError('--api-key is for --url; a database is opened without one');
  if (!needs.make) assertThere(settings);
  const namespace = typeof flags.namespace === 'string' ? flags.namespace : NAMESPACE_OPTION.defaultValue;
  (await import('@memoryd/engine')).assertNamespace(namespace);
  const engine = await openEngine(settings, needs);
  const api = engine.namespace(namespace);
  const isEmbedding = () => engine.embedder().state === 'ready';
  try {
    return await work({ api, waiting: async () => (isEmbedding() ? (await api.stats()).pending_embeddings : 0) });
  } finally {
    await engine.close();
  }
}

async function openEngine(settings: Settings, needs: Needs): Promise<Engine> {
  const engine = await import('@memoryd/engine');
  try {
    return await engine.openEngine({
      ...(needs.model ? engineSettings(settings) : engineSettingsWithoutModel(settings)),
      ...settings.database,
      keepModel: true,
      // A command is over too soon to consolidate; `memoryd consolidate` does so, and who serves the database.
      consolidationIntervalSeconds: 0,
      telemetry: warnings(),
    });
  } catch (cause) {
    if (!(cause instanceof MemoryError)) throw cause;
    throw cannotOpen(settings.database, cause);
  }
}

/** Tells people of warnings and errors, of each once. */
function warnings(): Telemetry {
  const told = new Set<string>();
  return {
    report({ level, event, facts, error }) {
      if (level !== 'warn' && level !== 'error') return;
      const why = error instanceof Error ? error.message : facts?.message;
      const sentence = event.replaceAll('_', ' ') + (typeof why === 'string' ? `: ${why}` : '');
      if (!told.has(sentence)) warn(sentence);
      told.add(sentence);
    },
  };
}

function warn(message: string): void {
  note(`memoryd: ${message}`);
}
