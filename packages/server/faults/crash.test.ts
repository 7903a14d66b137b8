import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { send } from '../conformance/http.ts';
import { launch, type ServerProcess, temporaryFolder } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient } from '../conformance/under-test.ts';
import { checkIntegrity } from './integrity.ts';
import { Random } from './random.ts';
import { acknowledgedIn, newTally, type Tally, Writer } from './writer.ts';

/** `npm run test:long` kills more often. A seed that is given makes the same writes, kills and pauses. */
const KILLS = Number(process.env.FAULTS_KILLS ?? 4);
const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));

const WRITERS = 6;

/** Writes before a kill: from the least to the most, or as many as are acknowledged in so long. */
const MIN_WRITES = 20;
const MAX_WRITES = 170;
const MAX_WORK_MS = 5000;

const ENV = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

/** Consolidates, and now and then takes back what that did, until the server does not answer any more. */
async function consolidate(port: number, random: Random): Promise<void> {
  for (;;) {
    const answer = await send<{ id: string }>(port, { method: 'POST', path: '/consolidate' }).catch(() => undefined);
    if (!answer) return;
    expect(answer.status, answer.text).toBe(200);
    if (random.below(4) > 0) continue;
    const path = `/consolidations/${answer.body.id}/undo`;
    const undone = await send(port, { method: 'POST', path }).catch(() => undefined);
    // What a client has written since is not taken back.
    if (undone) expect([200, 409], undone.text).toContain(undone.status);
  }
}

/** Kills a server at some moment of its start, or of its work. */
async function killWhileStarting(dbPath: string, random: Random): Promise<void> {
  const started = launch(['--port', '0', '--db-path', dbPath], ENV);
  await delay(random.below(1500));
  await started.end('SIGKILL');
}

/** Some moment after some writes have been acknowledged. */
async function moment(tally: Tally, random: Random): Promise<void> {
  const enough = acknowledgedIn(tally) + MIN_WRITES + random.below(MAX_WRITES - MIN_WRITES);
  const deadline = Date.now() + MAX_WORK_MS;
  while (acknowledgedIn(tally) < enough && Date.now() < deadline) await delay(1);
  await delay(random.below(40));
}

async function killAtWork(
  client: Client<ServerProcess>,
  writers: readonly Writer[],
  tally: Tally,
  random: Random,
): Promise<void> {
  const { port } = client.server;
  const working = [...writers.map((writer) => writer.write(port)), consolidate(port, random)];
  const first = Promise.race(working);
  // A write that is refused ends the test at once.
  await Promise.race([moment(tally, random), first]);
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
    `seed ${SEED}: ${kills} kills, ${acknowledgedIn(tally)} acknowledged writes (${kinds.join(', ')});`,
    `${present} times present as acknowledged, ${gone} times gone as acknowledged,`,
    `${lost.length} lost, ${duplicated.length} duplicated, ${returned.length} returned`,
  ].join(' ');
}

/** Kills and checks, again and again. */
async function killAndCheck(tally: Tally): Promise<void> {
  const random = new Random(SEED);
  const writers = Array.from({ length: WRITERS }, (_, n) => new Writer(`writer ${n}`, SEED + n + 1, tally));
  const dbPath = `${temporaryFolder()}/memory.db`;
  let client = await startProcessClient({ dbPath, env: ENV });
  while (tally.kills < KILLS) {
    await killAtWork(client, writers, tally, random);
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

describe(`a server that is killed ${KILLS} times while it stores, updates, forgets and consolidates`, () => {
  const timeout = 60_000 + KILLS * 30_000;

  it('has every acknowledged write once, and nothing that was forgotten', { timeout }, async () => {
    const tally = newTally();
    try {
      await killAndCheck(tally);
    } finally {
      // biome-ignore lint/suspicious/noConsole: the figures of a run, and the seed that makes it again
      console.log(report(tally));
    }
  });
});
