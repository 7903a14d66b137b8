import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HealthResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../conformance/folders.ts';
import { send } from '../../conformance/http.ts';
import { getInstalledFolder, installFromPypi } from '../../conformance/install-packages.ts';
import { startProcess } from '../../conformance/process.ts';
import { expectCleanEnd, WORDS_ONLY } from '../../conformance/under-test.ts';

/** `SCHEMATHESIS_SEED` selects other requests. */
const SEED = process.env.SCHEMATHESIS_SEED ?? '1';
const SECONDS = 120;
const TIMEOUT_MS = (SECONDS + 120) * 1000;
const INSTALL_TIMEOUT_MS = 300_000;

const API_KEY = 'schemathesis-0123456789-0123456789';

const folder = fileURLToPath(new URL('.', import.meta.url));
const requirements = join(folder, 'requirements.txt');

/** Tests the service on a port for `SECONDS`. Returns the exit code and the report. */
async function runSchemathesis(port: number, options: string[]): Promise<{ code: number; report: string }> {
  const url = `http://127.0.0.1:${port}/openapi.json`;
  const limits = ['--max-time', String(SECONDS), '--seed', SEED, '--phases', 'examples,coverage,fuzzing,stateful'];
  const config = join(folder, 'schemathesis.toml');
  const run = spawn(
    join(getInstalledFolder(requirements), 'bin/schemathesis'),
    ['--config-file', config, 'run', url, ...limits, '--no-color', ...options],
    {
      // The tool writes its cache into the working directory.
      cwd: createTemporaryFolder(),
      env: { ...process.env, SCHEMATHESIS_HOOKS: join(folder, 'hooks.py'), PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let report = '';
  for (const stream of [run.stdout, run.stderr]) stream.setEncoding('utf8').on('data', (text) => (report += text));
  const [code] = await once(run, 'close');
  return { code, report };
}

describe.runIf(process.env.LONG_TESTS)('Schemathesis', () => {
  beforeAll(() => installFromPypi(requirements), INSTALL_TIMEOUT_MS);

  it.each([
    {
      access: 'with an API key',
      env: { SERVICE_API_KEY: API_KEY },
      options: ['--header', `Authorization: Bearer ${API_KEY}`],
    },
    {
      access: 'without an API key',
      env: {},
      // Without a key, requests of this machine need none, until `addKey` creates one.
      options: ['--exclude-checks', 'ignored_auth', '--exclude-operation-id', 'addKey'],
    },
  ])(
    'the service passes the checks of Schemathesis $access',
    async ({ env, options }) => {
      const server = await startProcess({ env: { ...WORDS_ONLY, ...env } });
      const { code, report } = await runSchemathesis(server.port, options);
      process.stdout.write(`${report.slice(report.lastIndexOf('= SUMMARY ='))}\n`);
      expect(code, report).toBe(0);
      const headers = { authorization: `Bearer ${API_KEY}` };
      const health = await send<HealthResponse>(server.port, {
        path: '/health',
        ...('SERVICE_API_KEY' in env && { headers }),
      });
      expect(health.body.status).toBe('healthy');
      await expectCleanEnd(server);
      expect(server.records().filter(({ level }) => level === 'ERROR')).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
