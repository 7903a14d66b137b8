import { setTimeout as delay } from 'node:timers/promises';
import { raw } from '@memoryd/core';
import { describe, expect, it } from 'vitest';
import { connect } from '../../postgres/src/connection.ts';
import { getServerAddress } from '../../postgres/src/database.fixture.ts';
import { eventually, runServer } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { type DatabasePair, startPair } from './database-pair.ts';
import { checkIntegrity } from './integrity.ts';
import { createOutcome, type Outcome, PatientClient, waitForWrites } from './patient-client.ts';
import { Random } from './random.ts';
import { startProxy, type TcpProxy } from './tcp-proxy.ts';

const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 8;

/** Two servers that reach their database through a proxy, and the outcome of their clients' requests. */
interface Setup {
  pair: DatabasePair;
  proxy: TcpProxy;
  servers: Client[];
  outcome: Outcome;
}

async function queryDatabase<Row>(url: string, statement: string): Promise<Row[]> {
  const connection = connect({ url, connections: 1 });
  try {
    return await connection.rows<Row>(raw(statement));
  } finally {
    await connection.close();
  }
}

/**
 * Starts two servers, runs `injectFault` while clients write, and checks the data afterwards.
 *
 * @param injectFault returns the URL of the database that the servers use after the fault
 */
async function checkDuringWork(fault: string, injectFault: (setup: Setup) => Promise<string>): Promise<void> {
  const pair = await startPair();
  const proxy = await startProxy(pair.primaryUrl);
  const env = { ...WORDS_ONLY, SERVICE_DATABASE_CONNECTIONS: '6' };
  const database = proxy.getUrl(pair.primaryUrl);
  const servers = [await startProcessClient({ database, env }), await startProcessClient({ database, env })];
  const outcome = createOutcome();
  const random = new Random(SEED);
  const clients = Array.from({ length: CLIENTS }, (_, n) => new PatientClient(`client ${n}`, random, outcome));
  const stop = new AbortController();
  const working = Promise.all(
    clients.map((client, n) => client.work(() => servers[n % 2]?.server.port ?? 0, stop.signal)),
  );
  await Promise.race([waitForWrites(outcome, 50), working]);
  const currentDatabase = await injectFault({ pair, proxy, servers, outcome });
  // The servers must recover without a restart.
  await Promise.race([waitForWrites(outcome, 100), working]);
  stop.abort();
  await working;
  for (const client of clients) for (const server of servers) await client.check(server);
  const { acknowledged, retried, lost, duplicated } = outcome;
  // biome-ignore lint/suspicious/noConsole: prints the results and the seed that reproduces the run
  console.log(`${fault}, seed ${SEED}: acknowledged ${acknowledged}, lost ${lost.length}, retried ${retried}`);
  expect({ lost, duplicated }).toEqual({ lost: [], duplicated: [] });
  for (const server of servers) {
    await server.ok({ path: '/health' });
    expect(await server.consolidate()).toMatchObject({ status: 'consolidated' });
    await expectCleanEnd(server.server);
  }
  expect(await checkIntegrity(currentDatabase)).toEqual([]);
}

describe('two servers on one PostgreSQL database', () => {
  const timeout = 180_000;

  it(
    'two servers on one PostgreSQL database lose and duplicate no writes if their database connections are cut during requests',
    { timeout },
    () =>
      checkDuringWork('connections cut 10 times', async ({ pair, proxy, outcome }) => {
        for (let times = 0; times < 10; times++) {
          await waitForWrites(outcome, 15);
          proxy.cutConnections();
        }
        return pair.primaryUrl;
      }),
  );

  it(
    'two servers on one PostgreSQL database lose and duplicate no writes if the database server crashes, return 503 until it restarts, and then recover',
    { timeout },
    () =>
      checkDuringWork('a crash of the database server', async ({ pair, servers, outcome }) => {
        await pair.crash('primary');
        for (const server of servers) {
          await eventually('503', 20_000, async () => {
            const { status, body } = await server.send<{ status: string }>({ path: '/health' });
            return (status === 503 && body.status === 'unhealthy') || undefined;
          });
        }
        await delay(1000);
        await pair.restart('primary');
        await waitForWrites(outcome, 50);
        await pair.crash('primary');
        await pair.restart('primary');
        return pair.primaryUrl;
      }),
  );

  it(
    'two servers on one PostgreSQL database lose and duplicate no writes if the primary dies and its synchronous standby is promoted',
    { timeout },
    () =>
      checkDuringWork('failover', async ({ pair, proxy, outcome }) => {
        await queryDatabase(pair.primaryUrl, "ALTER SYSTEM SET synchronous_standby_names = 'replica'");
        await queryDatabase(pair.primaryUrl, 'SELECT pg_reload_conf()');
        await eventually('the standby to confirm commits', 20_000, async () => {
          const rows = await queryDatabase<{ sync_state: string }>(
            pair.primaryUrl,
            'SELECT sync_state FROM pg_stat_replication',
          );
          return rows[0]?.sync_state === 'sync' || undefined;
        });
        await waitForWrites(outcome, 100);
        await pair.crash('primary');
        // A real failover also waits until the primary is known to be down.
        await delay(2000);
        await pair.promote();
        proxy.redirectTo(pair.replicaUrl);
        return pair.replicaUrl;
      }),
  );
});

it('memoryd refuses to start if the read URL leads to a different database server', async () => {
  const { primaryUrl } = await startPair();
  const elsewhere = getServerAddress('TEST_DATABASE_READ_URL');
  const exit = await runServer(['--database-url', primaryUrl, '--database-read-url', elsewhere]);
  expect(exit).toMatchObject({ stdout: '', stderr: expect.stringContaining('leads to another database') });
});
