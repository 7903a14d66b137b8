import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { collectPair, formatCommand, parseInteger } from '../command-line.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { runInterruptibly } from '../interruption.ts';
import { percentilesMs } from '../latency/figures.ts';
import { readProcessMemory } from '../latency/footprint.ts';
import { createGeneratedDialogue } from '../latency/generated-dialogue.ts';
import { describeMachine } from '../latency/machine.ts';
import { createRandom } from '../random.ts';
import { assertHealthy, type RunningServer, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { bursts, consolidations, eventReader } from './background-load.ts';
import { type Flatness, judgeFlatness, type Sample } from './flatness.ts';
import { MixedLoad } from './mixed-load.ts';
import { RecordingClient } from './recording-client.ts';

interface Options {
  minutes: number;
  clients: number;
  seed: number;
  env: Record<string, string>;
  save?: string;
}

const MAX_MINUTES = 24 * 60;
const MAX_CLIENTS = 256;
const MAX_SEED = 2 ** 31 - 1;
const EVENT_READERS = 4;
const CONNECTIONS = 512;
const SAMPLE_EVERY_MS = 1000;
const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

const options = new Command('npm run bench:soak --')
  .description('Runs a mixed load on a server, and fails if resident memory grows or an unexpected error occurs.')
  .option('--minutes <number>', 'duration in minutes', parseInteger(1, MAX_MINUTES), 10)
  .option('--clients <number>', 'clients with one request in flight each', parseInteger(1, MAX_CLIENTS), 16)
  .option('--seed <number>', 'seed of the texts and of the order of requests', parseInteger(0, MAX_SEED), 1)
  .option('--env <KEY=VALUE>', 'a setting of the server; repeatable', collectPair, {})
  .option('--save <file>', 'append the line to this file')
  .parse()
  .opts<Options>();

await runInterruptibly(async (signal) => {
  const line = await withTemporaryFolder((folder) => {
    const server = { folder, connections: 1, environment: { ...environment, ...options.env }, signal };
    return withServer({ ...server, probe: assertHealthy }, (running) => soak(running, signal));
  });
  const text = `${JSON.stringify(line)}\n`;
  process.stdout.write(text);
  if (options.save !== undefined) appendFileSync(options.save, text);
  if (!line.memory.flat || Object.keys(line.unintended_errors).length > 0) process.exitCode = 1;
});

async function soak({ client, origin, pid }: RunningServer, signal: AbortSignal) {
  const { version } = await client.root();
  const requests = new RecordingClient(origin, CONNECTIONS);
  const load = new MixedLoad(requests, createGeneratedDialogue(options.seed), createRandom(options.seed, 4));
  await load.fill();
  await waitForEmbeddings(client, signal);
  requests.reset();
  const over = new AbortController();
  const end = over.signal;
  const finish = (): void => over.abort();
  signal.addEventListener('abort', finish);
  const timer = setTimeout(finish, options.minutes * 60_000);
  const clients = Array.from({ length: options.clients }, async () => {
    while (!end.aborted) await load.step();
  });
  const loads = [consolidations, bursts, ...new Array<typeof eventReader>(EVENT_READERS).fill(eventReader)];
  const samples: Sample[] = [];
  try {
    await Promise.all([
      ...clients,
      ...loads.map((runLoad) => runLoad(requests, origin, end)),
      sample(pid, load, requests, samples, end),
    ]);
  } finally {
    finish();
    clearTimeout(timer);
    signal.removeEventListener('abort', finish);
    await requests.close();
  }
  signal.throwIfAborted();
  return getLine(version, requests, samples);
}

/** Samples the server's memory, and prints a table after each minute. */
async function sample(pid: number, load: MixedLoad, requests: RecordingClient, samples: Sample[], end: AbortSignal) {
  const startMs = performance.now();
  let shown = 0;
  while (!end.aborted) {
    const residentMb = Number(readProcessMemory(pid).resident_mb);
    samples.push({ atS: (performance.now() - startMs) / 1000, residentMb, memories: load.memories });
    if (requests.minute > shown) showMinute(requests, shown++, samples.at(-1));
    // Ignores the rejection, because `sleep` rejects only if the signal aborts.
    await sleep(SAMPLE_EVERY_MS, undefined, { signal: end }).catch(() => {});
  }
  showMinute(requests, shown, samples.at(-1));
}

function showMinute(requests: RecordingClient, minute: number, last: Sample | undefined): void {
  const rows = [...(requests.durationsMs[minute] ?? [])]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([verb, durationsMs]) => {
      const { p50_ms, p99_ms } = percentilesMs(durationsMs, [50, 99]);
      return [verb, ...[durationsMs.length, p50_ms, p99_ms].map(String)];
    });
  const title = `minute ${minute + 1}: resident ${last?.residentMb} MB, ${last?.memories} memories`;
  process.stderr.write(`${title}\n${alignTable(['verb', 'responses', 'p50 ms', 'p99 ms'], rows)}\n\n`);
}

function getLine(version: string, requests: RecordingClient, samples: readonly Sample[]) {
  const memory: Flatness = judgeFlatness(samples);
  const minutes = requests.durationsMs.map((verbs, minute) => ({
    resident_mb: samples.findLast(({ atS }) => atS < (minute + 1) * 60)?.residentMb ?? null,
    memories: samples.findLast(({ atS }) => atS < (minute + 1) * 60)?.memories ?? null,
    verbs: Object.fromEntries(
      [...verbs].map(([verb, durationsMs]) => [
        verb,
        { answers: durationsMs.length, ...percentilesMs(durationsMs, [50, 99]) },
      ]),
    ),
  }));
  return {
    version,
    minutes,
    memory,
    intended_errors: Object.fromEntries(requests.expectedErrors),
    unintended_errors: Object.fromEntries(requests.unexpectedErrors),
    command: formatCommand('bench:soak', [
      ['--minutes', options.minutes],
      ['--clients', options.clients],
      ['--seed', options.seed],
      ...Object.entries(options.env).map(([key, value]) => ['--env', `${key}=${value}`] as const),
    ]),
    machine: describeMachine(),
  };
}
