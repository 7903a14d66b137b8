import { createServer } from 'node:net';
import type { Settings } from '../settings/read.ts';
import { VERSION } from '../version.ts';
import type { Finding } from './finding.ts';
import { findListener } from './port-owner.ts';

const HEALTH_TIMEOUT_MS = 3000;

/**
 * Checks that the service can listen on the configured port. If another program uses the port, names the program. A
 * running memoryd service of the same version is no problem.
 */
export async function checkPort({ host, port }: Pick<Settings, 'host' | 'port'>): Promise<Finding> {
  const where = `${port === 0 ? 'a port' : `port ${port}`} of ${host}`;
  const errorCode = await getListenError(host, port);
  if (errorCode === undefined) return { check: 'port', state: 'ok', found: `${where} is free` };
  if (errorCode !== 'EADDRINUSE') {
    const found = `cannot listen on ${where} (${errorCode})`;
    const advice =
      errorCode === 'EACCES' ? 'use --port with a number from 1024' : 'use --host with an address of this machine';
    return { check: 'port', state: 'problem', found, advice };
  }
  const version = await getServiceVersion(host, port);
  if (version === undefined) {
    const owner = findListener(port) ?? 'another program';
    return {
      check: 'port',
      state: 'problem',
      found: `${where} is in use by ${owner}`,
      advice: 'choose another port with --port',
    };
  }
  const found = `memoryd ${version} is running on ${where}`;
  if (version === VERSION) return { check: 'port', state: 'ok', found };
  return { check: 'port', state: 'warning', found, advice: `this is ${VERSION}: use matching versions` };
}

/** Returns the error code of an attempt to listen on an address, or `undefined` if the attempt succeeds. */
function getListenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'no reason'));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Returns the URL of the memoryd service that runs on the configured port, or `undefined` if none responds. */
export async function findServiceUrl({ host, port }: Pick<Settings, 'host' | 'port'>): Promise<string | undefined> {
  return (await getServiceVersion(host, port)) === undefined ? undefined : toUrl(host, port);
}

/** Returns the URL of a service on this machine that listens at an address. */
function toUrl(host: string, port: number): string {
  const target = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${target.includes(':') ? `[${target}]` : target}:${port}`;
}

/** Returns the version of the memoryd service at an address, or `undefined` if no memoryd service responds. */
async function getServiceVersion(host: string, port: number): Promise<string | undefined> {
  const { MemoryClient } = await import('@memoryd/client');
  const url = toUrl(host, port);
  const client = new MemoryClient({ url, retries: 0, timeoutMs: HEALTH_TIMEOUT_MS, onWarning: () => {} });
  const { version, db_connected } = await client
    .health()
    .catch(() => ({ version: undefined, db_connected: undefined }));
  return typeof version === 'string' && typeof db_connected === 'boolean' ? version : undefined;
}
