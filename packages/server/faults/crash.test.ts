import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { send } from '../conformance/http.ts';
import { createTemporaryFolder, launch, type ServerProcess } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient } from '../conformance/under-test.ts';
import { checkIntegrity } from './integrity.ts';
import { Random } from './random.ts';
import { countAcknowledged, createTally, type Tally, Writer } from './writer.ts';

/** Number of kills; `npm run test:long` sets more. The same seed gives the same writes, kills and pauses. */
const KILLS = Number(process.env.FAULTS_KILLS ?? 4);
const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));

const WRITERS = 6;

/** Range of acknowledged writes before a kill. The kill comes earlier if `MAX_WORK_MS` pass first. */
const MIN_WRITES = 20;
const MAX_WRITES = 170;
const MAX_WORK_MS = 5000;

const ENV = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

/** Consolidates until the server stops responding, and undoes about every fourth run. */
async function consolidate(port: number, random: Random): Promise<void> {
  for (;;) {
    const answer = await send<{ id: string }>(port, { method: 'POST', path: '/consolidate' }).catch(() => undefined);
    if (!answer) return;
    expect(answer.status, answer.text).toBe(200);
    if (random.below(4) > 0) continue;
    const path = `/consolidations/${answer.body.id}/undo`;
    const undone = await send(port, { method: 'POST', path }).catch(() => undefined);
    // 409 if a client has changed an affected memory since the run.
    if (undone) expect([200, 409], undone.text).toContain(undone.status);
  }
}

/** Kills a server at a random moment up to 1.5 seconds after its launch. */
async function killWhileStarting(dbPath: string, random: Random): Promise<void> {
  const started = launch(['--port', '0', '--db-path', dbPath], ENV);
  await delay(random.below(1500));
  await started.end('SIGKILL');
}

/** Waits for a random number of acknowledged writes, and then for a random time. */
async function waitForKillTime(tally: Tally, random: Random): Promise<void> {
  const enough = countAcknowledged(tally) + MIN_WRITES + random.below(MAX_WRITES - MIN_WRITES);
  const deadline = Date.now() + MAX_WORK_MS;
  while (countAcknowledged(tally) < enough && Date.now() < deadline) await delay(1);
  await delay(random.below(40));
}

async function killWhileWriting(
  client: Client<ServerProcess>,
  writers: readonly Writer[],
  tally: Tally,
  random: Random,
): Promise<void> {
  const { port } = client.server;
  const working = [...writers.map((writer) => writer.write(port)), consolidate(port, random)];
  const first = Promise.race(working);
  // Fails the test as soon as a write is rejected.
  await Promise.race([waitForKillTime(tally, random), first]);
  await client.server.kill();
  await Promise.all(working);
}

async function checkAll(client: Client<ServerProcess>, writers: readonly Writer[], tally: Tally): Promise<void> {
  for (const writer of writers) await writer.check(client);
  expect(tally).toMatchObject({ lost: [], duplicated: [], returned: [] });
  expect(await checkIntegrity(client.server.dbPath)).toEqual([]);
  for (const writer of writers) await writer.expectNoBytes(client.server.dbPath);
}

function report(tally: Tally): string {
  const { kills, acknowledged, present, gone, lost, duplicated, returned } = tally;
  const kinds = Object.entries(acknowledged).map(([kind, count]) => `${count} ${kind}`);
  return [
    `seed ${SEED}: ${kills} kills, ${countAcknowledged(tally)} acknowledged writes (${kinds.join(', ')});`,
    `${present} times present as acknowledged, ${gone} times gone as acknowledged,`,
    `${lost.length} lost, ${duplicated.length} duplicated, ${returned.length} returned`,
  ].join(' ');
}

/** Repeats: kill the server, restart it, check the data. */
async function killAndCheck(tally: Tally): Promise<void> {
  const random = new Random(SEED);
  const writers = Array.from({ length: WRITERS }, (_, n) => new Writer(`writer ${n}`, SEED + n + 1, tally));
  const dbPath = `${createTemporaryFolder()}/memory.db`;
  let client = await startProcessClient({ dbPath, env: ENV });
  while (tally.kills < KILLS) {
    await killWhileWriting(client, writers, tally, random);
    tally.kills++;
    if (random.below(4) === 0 && tally.kills < KILLS) {
      await killWhileStarting(dbPath, random);
      tally.kills++;
    }
    client = await startProcessClient({ dbPath, env: ENV });
    await checkAll(client, writers, tally);
  }
  await expectCleanEnd(client.server);
  expect(await checkIntegrity(dbPath)).toEqual([]);
}

describe(`a server that is killed ${KILLS} times during stores, updates, forgets and consolidations`, () => {
  const timeout = 60_000 + KILLS * 30_000;

  it('a killed server has every acknowledged write exactly once and no forgotten memory', { timeout }, async () => {
    const tally = createTally();
    try {
      await killAndCheck(tally);
    } finally {
      // biome-ignore lint/suspicious/noConsole: prints the results and the seed that reproduces the run
      console.log(report(tally));
    }
  });
});
