import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';
import getPaths from 'env-paths';
import type { Machine } from './types.ts';

/** Returns the facts about this machine. */
export function getMachine(): Machine {
  const { config, log } = getPaths('memoryd', { suffix: '' });
  return {
    platform: process.platform,
    env: process.env,
    home: homedir(),
    node: process.execPath,
    folders: { config, log },
  };
}

/** Joins path segments by the rules of the machine's platform. */
export function joinPath({ platform }: Pick<Machine, 'platform'>, ...segments: string[]): string {
  return (platform === 'win32' ? win32 : posix).join(...segments);
}

/** Returns the paths of memoryd's own files for the user. */
export function getOwnFiles(machine: Machine) {
  const { config, log } = machine.folders;
  return {
    /** The record of all connections. */
    record: joinPath(machine, config, 'connect.json'),
    /** Exists while a process changes connections, and names the process. */
    lock: joinPath(machine, config, 'connect.lock'),
    /** The program that hooks run. */
    hook: joinPath(machine, config, 'hook.cjs'),
    /** The API key, with mode 0600. */
    key: joinPath(machine, config, 'key'),
    /** The files as they were before they were connected. */
    backups: joinPath(machine, config, 'backups'),
    /** The last errors of hooks, one line a day. */
    log: joinPath(machine, log, 'hook.log'),
  };
}

/** Returns a folder that an environment variable names, or else the default folder below the home folder. */
export function getFolder(machine: Machine, variable: string, ...defaultSegments: string[]): string {
  return machine.env[variable] || joinPath(machine, machine.home, ...defaultSegments);
}

/** Returns the folder of a program's settings below the platform's folder for settings, as Electron programs use it. */
export function getApplicationFolder(machine: Machine, name: string): string {
  const { platform, env, home } = machine;
  if (platform === 'win32')
    return joinPath(machine, env.APPDATA || joinPath(machine, home, 'AppData', 'Roaming'), name);
  if (platform === 'darwin') return joinPath(machine, home, 'Library', 'Application Support', name);
  return joinPath(machine, getFolder(machine, 'XDG_CONFIG_HOME', '.config'), name);
}

/** Returns whether one of the paths exists. */
export function anyExists(...paths: string[]): boolean {
  return paths.some((path) => existsSync(path));
}

/** Returns whether an executable with this name is in a folder of `PATH`. */
export function isOnPath(machine: Machine, name: string): boolean {
  const { platform, env } = machine;
  const folders = (env.PATH ?? env.Path ?? '').split(platform === 'win32' ? ';' : ':').filter(Boolean);
  const names = platform === 'win32' ? ['.exe', '.cmd', '.bat', '.ps1'].map((end) => name + end) : [name];
  return folders.some((folder) => names.some((each) => isExecutable(joinPath(machine, folder, each))));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
