import type { StatsResponse } from '@memoryd/contract';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send as sendRequest } from '../conformance/http.ts';
import { eventually, type ServerProcess, startProcess } from '../conformance/process.ts';
import type { LogRecord } from '../conformance/server.ts';
import { WORDS_ONLY } from '../conformance/under-test.ts';
import { malformed, sendMalformed } from './malformed.ts';
import { getOperations, type OpenApi, type Operation } from './open-api.ts';
import { pageRequest } from './pages.ts';
import { getRequests, type Plan } from './requests.ts';
import { Session } from './session.ts';
import { token } from './tokens.ts';

/** `FUZZ_SEED` repeats a run: the same requests in the same order, but for the ids that the service makes. */
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 5000);
const MALFORMED = 1000;
const PAGES = 500;
/** Operations after which requests without a key are refused, or which delete what others have stored. */
const LOCKING_OUT = new Set([
  ...['POST /keys', 'DELETE /keys/{id}', 'DELETE /namespaces/{name}', 'PUT /namespaces/{name}'],
]);

/** What embeds texts or queries, and how many requests for it go to a server with the model. */
const EMBEDDED = ['POST /store', 'POST /store/batch', 'PUT /update/{memory_id}', 'GET /recall'];
const WITH_MODEL = REQUESTS / 25;
/**
 * Each of these makes a copy in a process of its own; the other routes are asked so much more often. Of fewer requests
 * it now and then happens that none is refused.
 */
const COPYING = ['GET /backup', 'GET /export'];
const COPIES = Math.max(32, REQUESTS / 500);
const CONNECTIONS = 32;
const SHOWN_FINDINGS = 25;
const TIMEOUT_MS = 600_000;

let server: ServerProcess;
let operations: Operation[];
const session = new Session(() => server.port);

beforeAll(async () => {
  process.stdout.write(`fuzz: FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}\n`);
  server = await startProcess({ env: WORDS_ONLY });
  const all = getOperations((await sendRequest<OpenApi>(server.port, { path: '/openapi.json' })).body);
  operations = all.filter(({ name }) => !LOCKING_OUT.has(name));
});
afterAll(async () => {
  await server.kill();
});

/** Does the task for each item, so many at a time. */
async function atOnce<T>(items: T[], task: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await task(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

/** Memories, runs of consolidation and cursors that requests can name from the start. */
async function seed(): Promise<void> {
  const [first, run] = [token('memory', 0), token('consolidation', 0)];
  const memories = Array.from({ length: 500 }, (_, i) => ({
    content: `memory ${i % 400}`,
    tags: [`tag-${i % 300}`],
    session_id: `session-${i % 200}`,
  }));
  await send('POST /store/batch', '/store/batch', memories);
  await send('PUT /update/{memory_id}', `/update/${first}`, { content: 'another text' });
  await send('POST /consolidate', '/consolidate');
  await send('POST /consolidations/{id}/undo', `/consolidations/${run}/undo`);
  await send('POST /consolidate', '/consolidate');
  for (const { name, path, parameters } of operations) {
    if (!parameters.some((parameter) => parameter.name === 'cursor')) continue;
    const names: Record<string, string> = { memory_id: first, id: run, session_id: 'session-1' };
    await send(name, `${path.replace(/\{(\w+)\}/, (_, parameter: string) => names[parameter] ?? 'x')}?limit=1`);
  }

  async function send(name: string, path: string, json?: unknown): Promise<void> {
    const operation = operations.find((one) => one.name === name) as Operation;
    const headers = { 'content-type': 'application/json' };
    const body = json === undefined ? {} : { body: JSON.stringify(json), headers };
    await session.send({
      operation,
      what: 'valid',
      method: operation.method,
      path,
      headers: {},
      expects: 'success',
      ...body,
    });
  }
}

/** Requests for operations in turn, so that they meet. */
function plansFor(some: Operation[], count: number): Plan[] {
  const copying = some.filter(({ name }) => COPYING.includes(name)).length;
  const each = Math.ceil((count - copying * COPIES) / (some.length - copying));
  const byOperation = some.map((operation, i) => {
    const numRuns = COPYING.includes(operation.name) ? COPIES : each;
    return fc.sample(getRequests(operation), { seed: SEED + i, numRuns });
  });
  // Each spread over all.
  const placed = byOperation.flatMap((plans) => plans.map((plan, n) => ({ plan, at: n / plans.length })));
  return placed.sort((a, b) => a.at - b.at).map(({ plan }) => plan);
}

describe('whatever is sent', () => {
  it(
    'every route answers as its description says, and no error has another shape than the table',
    async () => {
      const all = plansFor(operations, REQUESTS);
      expect(all.length).toBeGreaterThanOrEqual(REQUESTS);
      await seed();
      await atOnce(all, (plan) => session.send(plan));
      process.stdout.write(`${table(session.counts)}\n`);
      expect(session.findings.slice(0, SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it('every route that is described was answered with success and with errors', () => {
    const getClasses = ({ name }: Operation) =>
      [...(session.counts.get(name)?.keys() ?? [])].map((status) => Math.floor(status / 100));
    for (const operation of operations) {
      expect(getClasses(operation), operation.name).toEqual(expect.arrayContaining([2, 4]));
    }
  });

  it(
    'what was answered as stored is there in the end, byte for byte, and nothing else, also after a restart',
    async () => {
      expect(session.ledger.ids.length).toBeGreaterThan(REQUESTS / 100);
      expect((await session.audit()).slice(0, SHOWN_FINDINGS)).toEqual([]);
      const { code } = await server.stop();
      expect(code).toBe(0);
      expect(server.records().filter(isDefect)).toEqual([]);
      server = await startProcess({ env: WORDS_ONLY, dbPath: server.dbPath });
      expect((await session.audit()).slice(0, SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'that is no HTTP is refused in the same shape, and no connection hangs',
    async () => {
      const findings: unknown[] = [];
      await atOnce(fc.sample(malformed, { seed: SEED, numRuns: MALFORMED }), async (bytes) => {
        const { complaints } = await sendMalformed(server.port, bytes);
        if (complaints.length > 0) findings.push({ bytes: bytes.toString('latin1').slice(0, 500), complaints });
      });
      expect(findings.slice(0, SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'the documentation pages give no other file and no server error',
    async () => {
      await atOnce(fc.sample(pageRequest, { seed: SEED, numRuns: PAGES }), async (request) => {
        const { status, text } = await sendRequest(server.port, request);
        expect(status, JSON.stringify(request)).toBeLessThan(500);
        expect(text, JSON.stringify(request)).not.toMatch(/"type": "module"|^root:/m);
      });
    },
    TIMEOUT_MS,
  );

  it(
    'as text or query is embedded by the bundled model, and keeps no other from being embedded',
    async () => {
      const model = await startProcess({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });
      const embedding = new Session(() => model.port);
      const embedded = operations.filter(({ name }) => EMBEDDED.includes(name));
      expect(embedded.length).toBe(EMBEDDED.length);
      await atOnce(plansFor(embedded, WITH_MODEL), (plan) => embedding.send(plan));
      expect(embedding.findings.slice(0, SHOWN_FINDINGS)).toEqual([]);
      await eventually('all vectors', TIMEOUT_MS / 2, async () => {
        const { body } = await sendRequest<StatsResponse>(model.port, { path: '/stats' });
        return body.pending_embeddings === 0 ? true : undefined;
      });
      expect((await model.stop()).code).toBe(0);
      expect(model.records().filter(isTrouble)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

function isDefect({ level }: LogRecord): boolean {
  return level === 'ERROR';
}

/** What a server tells of itself at its start, and of requests that it has no room for, is in order. */
const USUAL_WARNINGS = ['any_origin_allowed', 'request_failed'];

function isTrouble({ level, event }: LogRecord): boolean {
  return level === 'ERROR' || (level === 'WARN' && !USUAL_WARNINGS.includes(event));
}

/** Answers by route and class of status. */
function table(counts: Session['counts']): string {
  const classes = [2, 3, 4, 5];
  const rows = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, statuses]) => {
      const inClass = (one: number) =>
        [...statuses].filter(([status]) => Math.floor(status / 100) === one).reduce((sum, [, count]) => sum + count, 0);
      const cells = classes.map((one) => String(inClass(one)).padStart(7));
      const detail = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
      return `${name.padEnd(34)}${cells.join('')}   ${detail.join(', ')}`;
    });
  const total = [...counts.values()]
    .flatMap((statuses) => [...statuses.values()])
    .reduce((sum, count) => sum + count, 0);
  return [
    `${'route'.padEnd(34)}${classes.map((one) => `${one}xx`.padStart(7)).join('')}`,
    ...rows,
    `${total} answers`,
  ].join('\n');
}
