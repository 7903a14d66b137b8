import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parse as parseJsonWithComments } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { getHookCommand } from './command-text.ts';
import { getFolder, joinPath } from './machine.ts';
import { getGeminiFolder } from './programs/gemini-cli.ts';
import type { Connection, Machine, ProgramName } from './types.ts';

/**
 * Whether a program runs the hooks and reads the files of a connection. `unneeded`: the program asks nobody. The text says
 * what to do, or why the state is unknown.
 */
export interface Trust {
  state: 'trusted' | 'untrusted' | 'unneeded' | 'unknown';
  text: string;
}

const UNNEEDED: Trust = { state: 'unneeded', text: 'needs no trust' };

/** Default time of a Codex hook, in seconds, which is part of its digest. */
const CODEX_TIMEOUT_SECONDS = 600;

type ReadTrust = (connection: Connection, machine: Machine) => Trust;

const READERS: Partial<Record<ProgramName, ReadTrust>> = {
  'claude-code': readClaudeCodeTrust,
  codex: readCodexTrust,
  'gemini-cli': readGeminiTrust,
  vscode: ({ project }) =>
    project === undefined
      ? UNNEEDED
      : { state: 'unknown', text: 'unknown: VS Code keeps the trust of folders in its own database' },
  cursor: ({ project }) =>
    project === undefined
      ? UNNEEDED
      : { state: 'unknown', text: 'unknown: Cursor keeps the trust of folders in its own database' },
};

/** Returns whether a program trusts the files of a connection, as far as its own files tell. Changes no file. */
export function readTrust(connection: Connection, machine: Machine): Trust {
  try {
    return READERS[connection.program]?.(connection, machine) ?? UNNEEDED;
  } catch (error) {
    return { state: 'unknown', text: `unknown: ${(error as Error).message.split('\n')[0]}` };
  }
}

/** Claude Code asks in a folder before it runs the hooks of the folder. */
function readClaudeCodeTrust({ project }: Connection, machine: Machine): Trust {
  if (project === undefined) return UNNEEDED;
  const file = joinPath(machine, machine.env.CLAUDE_CONFIG_DIR || machine.home, '.claude.json');
  const { projects } = readJson(file) as { projects?: Record<string, { hasTrustDialogAccepted?: boolean }> };
  const isTrusted = getFoldersAbove(project, machine).some(
    (folder) => projects?.[folder]?.hasTrustDialogAccepted === true,
  );
  if (isTrusted) return { state: 'trusted', text: 'trusted' };
  return { state: 'untrusted', text: 'not trusted: start claude in the folder, and trust it' };
}

/** A hook of `hooks.json`. */
interface CodexHandler {
  type: string;
  command?: string;
  timeout?: number;
  async?: boolean;
  statusMessage?: string;
}
type CodexGroup = { matcher?: string; hooks?: CodexHandler[] };

/**
 * Codex skips a hook, without a message, unless its own configuration has the digest of the hook as it is now. The
 * digest and its key are those of Codex 0.171 (`codex-rs/hooks/src/engine/discovery.rs` of openai/codex).
 */
function readCodexTrust(connection: Connection, machine: Machine): Trust {
  const userFolder = getFolder(machine, 'CODEX_HOME', '.codex');
  const { project } = connection;
  const hooksFile = joinPath(machine, ...(project === undefined ? [userFolder] : [project, '.codex']), 'hooks.json');
  const { hooks = {} } = readJson(hooksFile) as { hooks?: Record<string, CodexGroup[]> };
  const config = readCodexConfig(joinPath(machine, userFolder, 'config.toml'));
  const isTrustedFolder = (folder: string) => config.projects?.[folder]?.trust_level === 'trusted';
  if (project !== undefined && !getFoldersAbove(project, machine).some(isTrustedFolder)) {
    return { state: 'untrusted', text: 'not trusted: start codex in the folder, and trust it' };
  }
  const command = getHookCommand(connection, machine, 'cmd');
  const own = listCodexHandlers(hooks).filter(({ handler }) => handler.command === command);
  if (own.length === 0) return { state: 'unknown', text: `unknown: ${hooksFile} has no hooks of this connection` };
  const isTrusted = own.every(({ key, digest }) => {
    const state = config.hooks?.state?.[`${hooksFile}:${key}`];
    return state?.trusted_hash === digest && state.enabled !== false;
  });
  if (isTrusted) return { state: 'trusted', text: 'trusted' };
  return { state: 'untrusted', text: 'not trusted: start codex and choose "Trust all and continue", or type /hooks' };
}

interface CodexConfig {
  hooks?: { state?: Record<string, { trusted_hash?: string; enabled?: boolean }> };
  projects?: Record<string, { trust_level?: string }>;
}

function readCodexConfig(file: string): CodexConfig {
  return existsSync(file) ? (parseToml(readFileSync(file, 'utf8')) as CodexConfig) : {};
}

/** Returns the handlers of `hooks.json`, with the end of the key and the digest of each in the configuration. */
function listCodexHandlers(events: Record<string, CodexGroup[]>) {
  return Object.entries(events).flatMap(([event, groups]) =>
    groups.flatMap(({ matcher, hooks = [] }, group) =>
      hooks.map((handler, index) => {
        const label = event.replaceAll(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
        return { handler, key: `${label}:${group}:${index}`, digest: getCodexDigest(label, matcher, handler) };
      }),
    ),
  );
}

function getCodexDigest(event: string, matcher: string | undefined, handler: CodexHandler): string {
  const { type, command, timeout = CODEX_TIMEOUT_SECONDS, async = false, statusMessage } = handler;
  // In the order of the keys in JSON that is sorted by them.
  const hook = { async, command, ...(statusMessage !== undefined && { statusMessage }), timeout, type };
  const identity = { event_name: event, hooks: [hook], ...(matcher !== undefined && { matcher }) };
  return `sha256:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/** Gemini CLI reads the files of a project only in a trusted folder. */
function readGeminiTrust({ project }: Connection, machine: Machine): Trust {
  if (project === undefined) return UNNEEDED;
  const file = joinPath(machine, getGeminiFolder(machine), 'trustedFolders.json');
  const folders = Object.entries(existsSync(file) ? (readJson(file) as Record<string, string>) : {});
  const isBelow = (folder: string) => project === folder || project.startsWith(`${folder.replace(/[\\/]$/, '')}/`);
  // The longest folder is the nearest one.
  const [, rule] =
    folders
      .map(([folder, value]): [string, string] => [
        value === 'TRUST_PARENT' ? joinPath(machine, folder, '..') : folder,
        value,
      ])
      .filter(([folder]) => isBelow(folder))
      .sort(([one], [other]) => other.length - one.length)[0] ?? [];
  if (rule?.startsWith('TRUST_')) return { state: 'trusted', text: 'trusted' };
  if (rule !== undefined)
    return { state: 'untrusted', text: 'not trusted: type /permissions in Gemini CLI, and trust the folder' };
  return {
    state: 'unknown',
    text: 'unknown: no rule for the folder; Gemini CLI asks when it starts there, or asks nobody',
  };
}

/** Returns a folder and all folders above it, whose trust it shares. */
function getFoldersAbove(folder: string, machine: Machine): string[] {
  const above = joinPath(machine, folder, '..');
  return above === folder ? [folder] : [folder, ...getFoldersAbove(above, machine)];
}

/** Reads a JSON file, which may have comments. A missing file is an empty object. */
function readJson(file: string): unknown {
  return existsSync(file)
    ? (parseJsonWithComments(readFileSync(file, 'utf8'), [], { allowTrailingComma: true }) ?? {})
    : {};
}
