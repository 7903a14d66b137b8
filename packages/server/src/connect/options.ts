import { userInfo } from 'node:os';
import { LIMITS } from '@memoryd/contract/limits';
import { loadSettings } from '../settings/file.ts';
import type { Environment, Flags } from '../settings/read.ts';
import { getSuggestion } from '../suggestion.ts';
import { UsageError } from '../usage-error.ts';
import { type ConnectRecord, isSameConnection } from './record.ts';
import { type Account, type Capture, type Connection, type Machine, PROGRAMS, type ProgramName } from './types.ts';

/** Range of `--budget` in tokens, as the service has it. */
const MIN_BUDGET = 50;
const MAX_BUDGET = 20_000;

/** The flags of `memoryd connect`. */
export type ConnectFlags = Flags & {
  project?: true;
  user?: string;
  url?: string;
  capture?: Capture;
  recall?: 'on' | 'off';
  budget?: string;
  dryRun?: true;
  remove?: true;
  pause?: true;
  resume?: true;
  status?: true;
  service?: boolean;
  json?: true;
};

/** Returns the programs that arguments name, each once. Throws a UsageError for an unknown name. */
export function toPrograms(names: readonly string[]): ProgramName[] {
  return [...new Set(names)].map((name) => {
    const known = PROGRAMS.find((program) => program === name);
    if (known) return known;
    throw new UsageError(
      `unknown program '${name}'${getSuggestion(name, PROGRAMS) || `; the programs are ${PROGRAMS.join(', ')}`}`,
    );
  });
}

/** Returns the folder of the project; undefined without `--project`. Throws a UsageError in the home folder. */
export function getProject({ project }: ConnectFlags, { home }: Machine): string | undefined {
  if (!project) return undefined;
  const folder = process.cwd();
  if (folder !== home) return folder;
  throw new UsageError('--project needs the folder of a project; change to the folder, or leave out --project');
}

/**
 * Returns the connection of a program: options of the command line, else those of the present connection, else defaults.
 *
 * @throws UsageError that names an invalid option
 */
export function toConnection(
  program: ProgramName,
  flags: ConnectFlags,
  env: Environment,
  machine: Machine,
  record: ConnectRecord,
): Connection {
  const project = getProject(flags, machine);
  if (project !== undefined && program === 'claude-desktop') {
    throw new UsageError('claude-desktop has no files in a project; leave out --project');
  }
  const id = { program, ...(project !== undefined && { project }) };
  const present = record.connections.find((connection) => isSameConnection(connection, id));
  const account = present ?? getCommonAccount(record);
  const budget = flags.budget === undefined ? present?.budget : toBudget(flags.budget);
  return {
    ...id,
    ...toAccount(flags, env, account),
    capture: flags.capture ?? present?.capture ?? 'prompts',
    recall: flags.recall === undefined ? (present?.recall ?? true) : flags.recall === 'on',
    ...(budget !== undefined && { budget }),
    hasKey: present?.hasKey ?? false,
  };
}

/** The address and the user, as far as connections have them. */
type KnownAccount = { [Name in keyof Account]?: string | undefined };

/** Returns the address, and the user, that all connections have, so that programs share their memories. */
function getCommonAccount({ connections: [first, ...others] }: ConnectRecord): KnownAccount {
  const getCommon = (name: 'url' | 'user') =>
    others.every((each) => each[name] === first?.[name]) ? first?.[name] : undefined;
  return { url: getCommon('url'), user: getCommon('user') };
}

/** Returns the address of the service and the user: of flags, else of present connections, else the defaults. */
export function toAccount(flags: ConnectFlags, env: Environment, present: KnownAccount = {}): Account {
  const url = flags.url === undefined && present.url !== undefined ? present.url : getUrl(flags, env);
  return { url, user: getUser(flags.user ?? present.user ?? getLoginName(env)) };
}

function getUrl(flags: ConnectFlags, env: Environment): string {
  // Ignores the settings file in the working directory, which must not decide where prompts are sent.
  const { url, port } = loadSettings({ url: flags.url }, env, { search: false });
  if (url && /[?#]/.test(url))
    throw new UsageError('--url must be the address of a service, without a query or fragment');
  return (url || `http://127.0.0.1:${port}`).replace(/\/+$/, '');
}

function getUser(user: string): string {
  if (user.length >= 1 && user.length <= LIMITS.userIdChars) return user;
  throw new UsageError(`--user must be a name of 1 to ${LIMITS.userIdChars} characters`);
}

function getLoginName(env: Environment): string {
  try {
    return userInfo().username;
  } catch {
    // The user id of a container may have no name.
    return env.USER || env.USERNAME || 'me';
  }
}

function toBudget(text: string): number {
  const budget = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (budget >= MIN_BUDGET && budget <= MAX_BUDGET) return budget;
  throw new UsageError(`--budget must be a whole number of tokens from ${MIN_BUDGET} to ${MAX_BUDGET}`);
}
