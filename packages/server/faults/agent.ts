import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { MemoryApi } from '@memoryd/contract';
import { afterAll } from 'vitest';

const program = fileURLToPath(new URL('agent.mjs', import.meta.url));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** The API methods that the other process supports. */
type RemoteMethods = Pick<MemoryApi, 'store' | 'update' | 'forget' | 'memory' | 'recall' | 'consolidate' | 'stats'>;

/** A child process that runs the engine on a database. */
export interface Agent extends RemoteMethods {
  close(): Promise<void>;
}

interface Reply {
  callId: number;
  result?: unknown;
  failure?: { code: string; message: string };
}

/** Starts a child process that opens the database. */
export async function startAgent(dbPath: string): Promise<Agent> {
  const child = fork(program, [dbPath]);
  children.add(child);
  await once(child, 'message');
  const pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  child.on('message', ({ callId, result, failure }: Reply) => {
    if (failure) pending.get(callId)?.reject(Object.assign(new Error(failure.message), { code: failure.code }));
    else pending.get(callId)?.resolve(result);
    pending.delete(callId);
  });
  let lastCallId = 0;
  const createMethod =
    (verb: keyof RemoteMethods) =>
    (...args: unknown[]): Promise<never> =>
      new Promise<unknown>((resolve, reject) => {
        pending.set(++lastCallId, { resolve, reject });
        child.send({ callId: lastCallId, verb, args });
      }) as Promise<never>;
  return {
    store: createMethod('store'),
    update: createMethod('update'),
    forget: createMethod('forget'),
    memory: createMethod('memory'),
    recall: createMethod('recall'),
    consolidate: createMethod('consolidate'),
    stats: createMethod('stats'),
    async close() {
      child.send({ verb: 'close' });
      await once(child, 'exit');
      children.delete(child);
    },
  };
}
