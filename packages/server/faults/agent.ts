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

/** The verbs that are asked of another process. */
type Asked = Pick<MemoryApi, 'store' | 'update' | 'forget' | 'memory' | 'recall' | 'consolidate' | 'stats'>;

/** A process of its own that has the engine of a database in it. */
export interface Agent extends Asked {
  close(): Promise<void>;
}

interface Reply {
  no: number;
  answer?: unknown;
  refusal?: { code: string; message: string };
}

/** Starts a program that opens the database in its own process. */
export async function startAgent(dbPath: string): Promise<Agent> {
  const child = fork(program, [dbPath]);
  children.add(child);
  await once(child, 'message');
  const asked = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  child.on('message', ({ no, answer, refusal }: Reply) => {
    if (refusal) asked.get(no)?.reject(Object.assign(new Error(refusal.message), { code: refusal.code }));
    else asked.get(no)?.resolve(answer);
    asked.delete(no);
  });
  let last = 0;
  const ask =
    (verb: keyof Asked) =>
    (...args: unknown[]): Promise<never> =>
      new Promise<unknown>((resolve, reject) => {
        asked.set(++last, { resolve, reject });
        child.send({ no: last, verb, args });
      }) as Promise<never>;
  return {
    store: ask('store'),
    update: ask('update'),
    forget: ask('forget'),
    memory: ask('memory'),
    recall: ask('recall'),
    consolidate: ask('consolidate'),
    stats: ask('stats'),
    async close() {
      child.send({ verb: 'close' });
      await once(child, 'exit');
      children.delete(child);
    },
  };
}
