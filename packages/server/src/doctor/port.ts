import { createServer } from 'node:net';
import type { Settings } from '../settings/read.ts';
import { VERSION } from '../version.ts';
import type { Finding } from './finding.ts';
import { listenerOn } from './port-owner.ts';

const ANSWER_LIMIT_MS = 3000;

/** Whether the service could listen where the settings say, and who does where it could not. Port 0 is any that is free. */
export async function checkPort({ host, port }: Pick<Settings, 'host' | 'port'>): Promise<Finding> {
  const where = `${port === 0 ? 'a port' : `port ${port}`} of ${host}`;
  const refusal = await toRefusal(host, port);
  if (refusal === undefined) return { check: 'port', state: 'ok', found: `${where} is free` };
  if (refusal !== 'EADDRINUSE') {
    const found = `${where} cannot be listened on (${refusal})`;
    const advice =
      refusal === 'EACCES' ? 'use --port with one from 1024 on' : 'use --host with an address of this machine';
    return { check: 'port', state: 'problem', found, advice };
  }
  const version = await versionAt(host, port);
  if (version === undefined) {
    const owner = listenerOn(port) ?? 'another program';
    return { check: 'port', state: 'problem', found: `${where} is taken by ${owner}`, advice: 'use --port' };
  }
  const found = `memoryd ${version} serves on ${where}`;
  if (version === VERSION) return { check: 'port', state: 'ok', found };
  return { check: 'port', state: 'warning', found, advice: `this is ${VERSION}: use matching versions` };
}

/** The code of what keeps a server from listening; undefined where nothing does. */
function toRefusal(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'no reason'));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** The version of the memoryd that answers there; undefined where none does. */
async function versionAt(host: string, port: number): Promise<string | undefined> {
  const asked = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  const { MemoryClient } = await import('@memoryd/client');
  const url = `http://${asked.includes(':') ? `[${asked}]` : asked}:${port}`;
  const client = new MemoryClient({ url, retries: 0, timeoutMs: ANSWER_LIMIT_MS, onWarning: () => {} });
  const { version, db_connected } = await client
    .health()
    .catch(() => ({ version: undefined, db_connected: undefined }));
  return typeof version === 'string' && typeof db_connected === 'boolean' ? version : undefined;
}
