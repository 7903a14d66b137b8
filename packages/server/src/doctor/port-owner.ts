import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** How `/proc/net/tcp` calls a socket that listens (`man 5 proc`). */
const LISTENING = '0A';

/** Which program listens on a port, such as `nginx (process 812)`, as far as Linux lets this user see it. */
export function listenerOn(port: number): string | undefined {
  const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) => getSockets(getText(table), port));
  const pid = sockets.length === 0 ? undefined : processes().find((each) => holdsOne(each, sockets));
  return pid === undefined ? undefined : `${getText(`/proc/${pid}/comm`).trim()} (process ${pid})`;
}

/** The sockets of a table that listen on a port, as links to them read. */
function getSockets(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', , state]) => local.endsWith(ending) && state === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`);
}

function processes(): string[] {
  return namesIn('/proc').filter((name) => /^\d+$/.test(name));
}

function holdsOne(pid: string, sockets: readonly string[]): boolean {
  const folder = `/proc/${pid}/fd`;
  return namesIn(folder).some((name) => sockets.includes(getLink(`${folder}/${name}`)));
}

// What is not there, or is not for this user, is nothing: processes come and go meanwhile.
function namesIn(folder: string): string[] {
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
