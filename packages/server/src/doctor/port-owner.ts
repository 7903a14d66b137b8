import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The state of a listening socket in `/proc/net/tcp` (`man 5 proc`). */
const LISTENING = '0A';

/**
 * Returns the program that listens on a TCP port, such as `nginx (process 812)`. Returns `undefined` if no program
 * listens, if this user has no permission to see the program, and on systems other than Linux.
 */
export function findListener(port: number): string | undefined {
  const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => getSockets(getText(table), port));
  const pid = sockets.length === 0 ? undefined : getProcessIds().find((each) => hasSocket(each, sockets));
  return pid === undefined ? undefined : `${getText(`/proc/${pid}/comm`).trim()} (process ${pid})`;
}

/**
 * Returns the sockets that listen on a port, read from a table such as `/proc/net/tcp`, in the format of links in
 * `/proc/PID/fd`.
 */
function getSockets(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(ending) && state === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`);
}

function getProcessIds(): string[] {
  return getNames('/proc').filter((name) => /^\d+$/.test(name));
}

function hasSocket(pid: string, sockets: readonly string[]): boolean {
  const folder = `/proc/${pid}/fd`;
  return getNames(folder).some((name) => sockets.includes(getLink(`${folder}/${name}`)));
}

// Missing and unreadable folders are read as empty, because a process may end at any time.
function getNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function getLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function getText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
