import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { connect, type HttpClient } from '../http-client.ts';
import { type Figures, percentilesMs, roundFigure } from './figures.ts';
import { TOP_K } from './recall-load.ts';

const floorServer = fileURLToPath(new URL('floor-server.js', import.meta.url));
const WARM_UP_REQUESTS = 500;
const REQUESTS = 2000;

/**
 * Measures the overhead of the client and the network: recalls from a minimal server that returns ten fixed results at
 * once.
 */
export async function measureClientFloor(signal: AbortSignal): Promise<Figures> {
  const server = fork(floorServer, { signal });
  // Ignores the abort error of the child process: if the run is interrupted, the client's request rejects too.
  server.on('error', () => {});
  const [{ port }] = (await once(server, 'message', { signal })) as [AddressInfo];
  const client = connect(`http://127.0.0.1:${port}`, 1, signal);
  try {
    await timeRecalls(client, WARM_UP_REQUESTS);
    const before = process.cpuUsage();
    const durationsMs = await timeRecalls(client, REQUESTS);
    const { user, system } = process.cpuUsage(before);
    const { p50_ms: floor = null, p99_ms: floorP99 = null } = percentilesMs(durationsMs, [50, 99]);
    const cpuMs = roundFigure((user + system) / 1000 / REQUESTS);
    return { client_floor_ms: floor, client_floor_p99_ms: floorP99, client_cpu_ms: cpuMs };
  } finally {
    await client.close();
    server.disconnect();
  }
}

async function timeRecalls(client: HttpClient, count: number): Promise<number[]> {
  const durationsMs: number[] = [];
  for (let sent = 0; sent < count; sent++) {
    const sentAtMs = performance.now();
    await client.recall('what does nobody know?', TOP_K);
    durationsMs.push(performance.now() - sentAtMs);
  }
  return durationsMs;
}
