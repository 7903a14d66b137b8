import { setImmediate } from 'node:timers/promises';
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
import { placeholder } from './placeholders.ts';
import { getRequests, type Plan } from './requests.ts';
import { Session } from './session.ts';

/** `FUZZ_SEED` repeats a run with the same requests in the same order, except for ids that the service generates. */
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 5000);
const MALFORMED = 1000;
const PAGES = 500;
/** Excluded operations: requests without a key would be refused afterwards, or other requests' memories deleted. */
const EXCLUDED = new Set([
  ...['POST /keys', 'DELETE /keys/{id}', 'DELETE /namespaces/{name}', 'PUT /namespaces/{name}'],
]);

/** Operations that embed texts or queries, and the number of their requests to a server with the model. */
const EMBEDDING_OPERATIONS = ['POST /store', 'POST /store/batch', 'PUT /update/{memory_id}', 'GET /recall'];
const MODEL_REQUESTS = REQUESTS / 25;
/**
 * Each of these starts a process that copies the database, so they get fewer requests. With still fewer, it may happen
 * that none is refused.
 */
const COPY_OPERATIONS = ['GET /backup', 'GET /export'];
const COPY_REQUESTS = Math.max(32, REQUESTS / 500);
const CONNECTIONS = 32;
const MAX_SHOWN_FINDINGS = 25;
const TIMEOUT_MS = 600_000;

let server: ServerProcess;
let operations: Operation[];
/** Operations that cannot succeed here: without an embedder, no correction is suggested. */
const ALWAYS_FAILING: ReadonlySet<string> = new Set(['POST /corrections/{id}']);

const session = new Session(() => server.port);

beforeAll(async () => {
  process.stdout.write(`fuzz: FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}\n`);
  server = await startProcess({ env: WORDS_ONLY });
  const all = getOperations((await sendRequest<OpenApi>(server.port, { path: '/openapi.json' })).body);
  operations = all.filter(({ name }) => !EXCLUDED.has(name));
});
afterAll(async () => {
  await server.kill();
});

/** Runs a task for each item, with `CONNECTIONS` tasks concurrently. */
async function runConcurrently<T>(items: T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await task(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

/** Creates memories, consolidations and cursors that requests can refer to. */
async function seed(): Promise<void> {
  const [first, run] = [placeholder('memory', 0), placeholder('consolidation', 0)];
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
  await send('PATCH /memories', '/memories?session_id=session-7', { add_tags: ['tag-7'] });
  for (const external_id of ['external-1', 'external-2', 'external-3']) {
    await send('POST /imports', '/imports?from=jsonl', [{ content: `imported as ${external_id}`, external_id }]);
  }
  // Few of the generated files are of the format that their request names.
  await send('POST /import', '/import?from=jsonl', { content: 'imported as a file', id: 'file-1' });
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
      label: 'valid',
      method: operation.method,
      path,
      headers: {},
      expects: 'success',
      ...body,
    });
  }
}

/** Creates requests of operations, interleaved so that different operations run concurrently. */
function createPlans(selected: Operation[], count: number): Plan[] {
  const copyCount = selected.filter(({ name }) => COPY_OPERATIONS.includes(name)).length;
  const runsPerOperation = Math.ceil((count - copyCount * COPY_REQUESTS) / (selected.length - copyCount));
  const byOperation = selected.map((operation, i) => {
    const numRuns = COPY_OPERATIONS.includes(operation.name) ? COPY_REQUESTS : runsPerOperation;
    return fc.sample(getRequests(operation), { seed: SEED + i, numRuns });
  });
  // The requests of each operation are spread evenly.
  const placed = byOperation.flatMap((plans) => plans.map((plan, n) => ({ plan, at: n / plans.length })));
  return placed.sort((a, b) => a.at - b.at).map(({ plan }) => plan);
}

describe('a fuzzed service', () => {
  it(
    'responds on every route as described in its OpenAPI document, with errors in the documented shape',
    async () => {
      const all = createPlans(operations, REQUESTS);
      expect(all.length).toBeGreaterThanOrEqual(REQUESTS);
      // Creating the requests may take longer than the server keeps an idle connection. A turn of the event loop lets
      // the client see that the connection is closed; the first await may still be in the same turn.
      await setImmediate();
      await setImmediate();
      await seed();
      await runConcurrently(all, (plan) => session.send(plan));
      process.stdout.write(`${formatCounts(session.counts)}\n`);
      expect(session.findings.slice(0, MAX_SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it('returns both successes and errors on every documented route', () => {
    const getClasses = ({ name }: Operation) =>
      [...(session.counts.get(name)?.keys() ?? [])].map((status) => Math.floor(status / 100));
    for (const operation of operations) {
      const expected = ALWAYS_FAILING.has(operation.name) ? [4] : [2, 4];
      expect(getClasses(operation), operation.name).toEqual(expect.arrayContaining(expected));
    }
  });

  it(
    'a fuzzed service has exactly the acknowledged memories in the end, byte for byte, before and after a restart',
    async () => {
      expect(session.ledger.ids.length).toBeGreaterThan(REQUESTS / 100);
      expect((await session.audit()).slice(0, MAX_SHOWN_FINDINGS)).toEqual([]);
      const { code } = await server.stop();
      expect(code).toBe(0);
      expect(server.records().filter(isDefect)).toEqual([]);
      server = await startProcess({ env: WORDS_ONLY, dbPath: server.dbPath });
      expect((await session.audit()).slice(0, MAX_SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'rejects malformed HTTP with the same error shape, and closes every connection',
    async () => {
      const findings: unknown[] = [];
      await runConcurrently(fc.sample(malformed, { seed: SEED, numRuns: MALFORMED }), async (bytes) => {
        const { problems } = await sendMalformed(server.port, bytes);
        if (problems.length > 0) findings.push({ bytes: bytes.toString('latin1').slice(0, 500), problems });
      });
      expect(findings.slice(0, MAX_SHOWN_FINDINGS)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'returns no files from outside the documentation pages, and no server errors for their URLs',
    async () => {
      await runConcurrently(fc.sample(pageRequest, { seed: SEED, numRuns: PAGES }), async (request) => {
        const { status, text } = await sendRequest(server.port, request);
        expect(status, JSON.stringify(request)).toBeLessThan(500);
        expect(text, JSON.stringify(request)).not.toMatch(/"type": "module"|^root:/m);
      });
    },
    TIMEOUT_MS,
  );

  it(
    'embeds any text and query with the bundled model',
    async () => {
      const model = await startProcess({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });
      const modelSession = new Session(() => model.port);
      const selected = operations.filter(({ name }) => EMBEDDING_OPERATIONS.includes(name));
      expect(selected.length).toBe(EMBEDDING_OPERATIONS.length);
      await runConcurrently(createPlans(selected, MODEL_REQUESTS), (plan) => modelSession.send(plan));
      expect(modelSession.findings.slice(0, MAX_SHOWN_FINDINGS)).toEqual([]);
      await eventually('all vectors', TIMEOUT_MS / 2, async () => {
        const { body } = await sendRequest<StatsResponse>(model.port, { path: '/stats' });
        return body.pending_embeddings === 0 ? true : undefined;
      });
      expect((await model.stop()).code).toBe(0);
      expect(model.records().filter(isProblem)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

function isDefect({ level }: LogRecord): boolean {
  return level === 'ERROR';
}

/** Expected warnings: one at the start, and one for each request that was refused under load. */
const EXPECTED_WARNINGS = ['any_origin_allowed', 'request_failed'];

function isProblem({ level, event }: LogRecord): boolean {
  return level === 'ERROR' || (level === 'WARN' && !EXPECTED_WARNINGS.includes(event));
}

/** Returns a table of the responses by route and status class. */
function formatCounts(counts: Session['counts']): string {
  const classes = [2, 3, 4, 5];
  const rows = [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, statuses]) => {
      const countClass = (statusClass: number) =>
        [...statuses]
          .filter(([status]) => Math.floor(status / 100) === statusClass)
          .reduce((sum, [, count]) => sum + count, 0);
      const cells = classes.map((one) => String(countClass(one)).padStart(7));
      const detail = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
      return `${name.padEnd(34)}${cells.join('')}   ${detail.join(', ')}`;
    });
  const total = [...counts.values()]
    .flatMap((statuses) => [...statuses.values()])
    .reduce((sum, count) => sum + count, 0);
  return [
    `${'route'.padEnd(34)}${classes.map((one) => `${one}xx`.padStart(7)).join('')}`,
    ...rows,
    `${total} responses`,
  ].join('\n');
}
