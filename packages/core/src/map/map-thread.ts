import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { type ComputedMap, computeMap, type MapSlice } from './compute-map.ts';

/*
 * The thread that computes one map: some seconds of computation, which must not delay other requests. It receives the
 * slices of the memories, and then `compute`.
 */
const slices: MapSlice[] = [];
const { before } = workerData as { before: ComputedMap | undefined };

// Recall comes first on a busy machine. On Linux, the priority is that of this thread; elsewhere, of the whole process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

parentPort?.on('message', (message: MapSlice | 'compute') => {
  if (message !== 'compute') slices.push(message);
  else parentPort?.postMessage(computeMap(slices, before));
});
