import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { raw } from '../../engine/src/storage/sql/sql.ts';
import { connect } from '../../postgres/src/connection.ts';
import { getServerAddress } from '../../postgres/src/database.fixture.ts';
import { eventually, runServer } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { type DatabasePair, startPair } from './database-pair.ts';
import { checkIntegrity } from './integrity.ts';
import { type MovingAddress, openAddress } from './moving-address.ts';
import { acknowledging, newOutcome, type Outcome, PatientClient } from './patient-client.ts';
import { Random } from './random.ts';

const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 8;

/** Two servers on a database that is reached through an address of its own, and clients of both. */
interface Scene {
  pair: DatabasePair;
  address: MovingAddress;
  servers: Client[];
  outcome: Outcome;
}

async function onDatabase<Row>(url: string, statement: string): Promise<Row[]> {
  const connection = connect({ url, connections: 1 });
  try {
    return await connection.rows<Row>(raw(statement));
  } finally {
    await connection.close();
  }
}

/** Sets the scene, lets something happen to it while clients work, and looks at what is left. */
async function amidWork(what: string, happen: (scene: Scene) => Promise<string>): Promise<void> {
  const pair = await startPair();
  const address = await openAddress(pair.primaryUrl);
  const env = { ...WORDS_ONLY, SERVICE_DATABASE_CONNECTIONS: '6' };
  const database = address.of(pair.primaryUrl);
  const servers = [await startProcessClient({ database, env }), await startProcessClient({ database, env })];
  const outcome = newOutcome();
  const random = new Random(SEED);
  const clients = Array.from({ length: CLIENTS }, (_, n) => new PatientClient(`client ${n}`, random, outcome));
  const stop = new AbortController();
  const working = Promise.all(
    clients.map((client, n) => client.work(() => servers[n % 2]?.server.port ?? 0, stop.signal)),
  );
  await Promise.race([acknowledging(outcome, 50), working]);
  const databaseNow = await happen({ pair, address, servers, outcome });
  // The servers are those from before: nobody started them again.
  await Promise.race([acknowledging(outcome, 100), working]);
  stop.abort();
  await working;
  for (const client of clients) for (const server of servers) await client.check(server);
  const { acknowledged, retried, lost, doubled } = outcome;
  // biome-ignore lint/suspicious/noConsole: the figures of a run, and the seed that makes it again
  console.log(`${what}, seed ${SEED}: acknowledged ${acknowledged}, lost ${lost.length}, retried ${retried}`);
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] });
  for (const server of servers) {
    await server.ok({ path: '/health' });
    expect(await server.consolidate()).toMatchObject({ status: 'consolidated' });
    await expectCleanEnd(server.server);
  }
  expect(await checkIntegrity(databaseNow)).toEqual([]);
}

describe('two servers on one PostgreSQL database', () => {
  const timeout = 180_000;

  it('lose and double nothing when their connections are cut in the middle of requests', { timeout }, () =>
    amidWork('connections cut 10 times', async ({ pair, address, outcome }) => {
      for (let times = 0; times < 10; times++) {
        await acknowledging(outcome, 15);
        address.cut();
      }
      return pair.primaryUrl;
    }),
  );

  it(
    'lose and double nothing when the database server crashes, say 503 meanwhile, and go on after it',
    { timeout },
    () =>
      amidWork('a crash of the database server', async ({ pair, servers, outcome }) => {
        await pair.crash('primary');
        for (const server of servers) {
          await eventually('503', 20_000, async () => {
            const { status, body } = await server.send<{ status: string }>({ path: '/health' });
            return (status === 503 && body.status === 'unhealthy') || undefined;
          });
        }
        await delay(1000);
        await pair.restart('primary');
        await acknowledging(outcome, 50);
        await pair.crash('primary');
        await pair.restart('primary');
        return pair.primaryUrl;
      }),
  );

  it(
    'lose and double nothing when the primary dies and its standby, which confirms commits, takes over',
    {
      timeout,
    },
    () =>
      amidWork('failover', async ({ pair, address, outcome }) => {
        await onDatabase(pair.primaryUrl, "ALTER SYSTEM SET synchronous_standby_names = 'replica'");
        await onDatabase(pair.primaryUrl, 'SELECT pg_reload_conf()');
        await eventually('the standby to confirm commits', 20_000, async () => {
          const rows = await onDatabase<{ sync_state: string }>(
            pair.primaryUrl,
            'SELECT sync_state FROM pg_stat_replication',
          );
          return rows[0]?.sync_state === 'sync' || undefined;
        });
        await acknowledging(outcome, 100);
        await pair.crash('primary');
        // Nobody promotes a standby before it is sure that the primary is gone.
        await delay(2000);
        await pair.promote();
        address.moveTo(pair.replicaUrl);
        return pair.replicaUrl;
      }),
  );
});

it('a read address that leads to another database server is refused at the start', async () => {
  const { primaryUrl } = await startPair();
  const elsewhere = getServerAddress('TEST_DATABASE_READ_URL');
  const ended = await runServer(['--database-url', primaryUrl, '--database-read-url', elsewhere]);
  expect(ended).toMatchObject({ stdout: '', stderr: expect.stringContaining('leads to another database') });
});
