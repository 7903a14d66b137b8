import type { ExportedMemory, MemoryApi } from '@memoryd/contract';
import { WHAT_HOLDS_AT, WHAT_HOLDS_QUERY, type WhatHoldsReader } from './what-holds.contract.ts';

type Reader = WhatHoldsReader<{ memory: MemoryApi }>;

/** The fields of a request that select what holds. */
type Time = { current: true } | { as_of: string };

const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id);
const withSuccessors = (memories: readonly { id: string; superseded_by?: string | null }[]) =>
  memories.map(({ id, superseded_by: successor }) => (successor ? `${id} ${successor}` : id));

/** A transcript is complete, except for what was forgotten or has expired. Summaries belong to no session. */
const TRANSCRIPT = { also: ['merged', 'archived'], withoutSummaries: true } as const;

async function readLines(lines: AsyncIterable<string>): Promise<Partial<ExportedMemory>[]> {
  const read: Partial<ExportedMemory>[] = [];
  for await (const line of lines) read.push(JSON.parse(line) as Partial<ExportedMemory>);
  return read;
}

/** The readers that select by time. */
const BY_TIME: Record<string, (time: Time) => Omit<Reader, 'name'>> = {
  recall: (time) => ({
    read: async ({ memory }, { user }) => getIds((await memory.recall({ ...toRecall(user), ...time })).results),
  }),
  memories: (time) => ({
    read: async ({ memory }, { user }) => getIds((await memory.memories({ user_id: user, ...time })).memories),
  }),
  session: (time) => ({
    read: async ({ memory }, { user }) => getIds((await memory.session({ session_id: user, ...time })).memories),
    ...TRANSCRIPT,
  }),
  sessions: (time) => ({
    async read({ memory }, { user }) {
      const { sessions } = await memory.sessions({ user_id: user, ...time });
      return [String(sessions.reduce((sum, { total }) => sum + total, 0))];
    },
    ...{ returns: 'count', withoutSummaries: true },
  }),
  export: (time) => {
    // One export for all users, because each begins with a copy of the database.
    const exports = new WeakMap<MemoryApi, Promise<Partial<ExportedMemory>[]>>();
    return {
      async read({ memory }, { user }) {
        const lines = exports.get(memory) ?? readLines(memory.exportMemories(time));
        exports.set(memory, lines);
        return (await lines).flatMap(({ id, user_id }) => (id !== undefined && user_id === user ? [id] : []));
      },
      also: ['merged'],
    };
  },
};

function toRecall(user: string) {
  return { query: WHAT_HOLDS_QUERY, user_id: user, top_k: 20 };
}

/** The readers of a `MemoryApi`. */
export const MEMORY_API_READERS: readonly Reader[] = [
  ...Object.entries(BY_TIME).flatMap(([name, toReader]): Reader[] => [
    { name: `${name} with current`, ...toReader({ current: true }) },
    ...Object.entries(WHAT_HOLDS_AT).map(([when, time]) => ({
      name: `${name} as of ${when}`,
      time,
      ...toReader({ as_of: time }),
    })),
  ]),
  {
    name: 'recall without superseded memories',
    returns: 'unreplaced',
    read: async ({ memory }, { user }) =>
      getIds((await memory.recall({ ...toRecall(user), superseded: false })).results),
  },
  {
    name: 'superseded_by in recall',
    returns: 'replacements',
    read: async ({ memory }, { user }) => withSuccessors((await memory.recall(toRecall(user))).results),
  },
  {
    name: 'superseded_by in memories',
    returns: 'replacements',
    read: async ({ memory }, { user }) => withSuccessors((await memory.memories({ user_id: user })).memories),
  },
  {
    name: 'superseded_by in session',
    returns: 'replacements',
    ...TRANSCRIPT,
    read: async ({ memory }, { user }) => withSuccessors((await memory.session({ session_id: user })).memories),
  },
  {
    name: 'superseded_by of a memory',
    returns: 'replacements',
    also: ['merged'],
    async read({ memory }, { ids }) {
      const read = await Promise.all(ids.map((id) => memory.memory(id).catch(() => undefined)));
      return withSuccessors(read.filter((each) => each !== undefined));
    },
  },
];
