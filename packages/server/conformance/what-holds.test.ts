import type {
  ContextResponse,
  MemoriesResponse,
  RecallResponse,
  SessionResponse,
  SessionsResponse,
} from '@memoryd/contract';
import { WHAT_HOLDS_AT, WHAT_HOLDS_QUERY, type WhatHoldsReader } from '@memoryd/suites';
import { describe } from 'vitest';
import { readListing } from '../../contract/src/tools/listing.fixture.ts';
import { type Agent, getText, httpAgent } from './agent.ts';
import { getJsonInProcess } from './command-in-process.ts';
import { send } from './http.ts';
import { testWhatHolds } from './what-holds-database.ts';

const getIds = (memories: readonly { id: string }[]) => memories.map(({ id }) => id);
const withSuccessors = (memories: readonly { id: string; superseded_by?: string | null }[]) =>
  memories.map(({ id, superseded_by: successor }) => (successor ? `${id} ${successor}` : id));
/** A transcript is complete, except for what was forgotten or has expired. Summaries belong to no session. */
const TRANSCRIPT = { also: ['merged', 'archived'], withoutSummaries: true } as const;
const LATER = WHAT_HOLDS_AT['the begin of the later correction'];

describe('REST', () => {
  const get = async <Body>(port: number, path: string) => (await send<Body>(port, { path })).body;
  const recall = (user: string) => `/recall?query=${WHAT_HOLDS_QUERY}&top_k=20&user_id=${encodeURIComponent(user)}`;
  const readers: WhatHoldsReader<number>[] = (['current=true', `as_of=${LATER}`] as const).flatMap((time) => {
    const common = { ...(time.startsWith('as_of') && { time: LATER }) };
    const [field = ''] = time.split('=');
    return [
      {
        name: `recall with ${field}`,
        ...common,
        read: async (port, { user }) => getIds((await get<RecallResponse>(port, `${recall(user)}&${time}`)).results),
      },
      {
        name: `POST recall with ${field}`,
        ...common,
        async read(port, { user }) {
          const value = field === 'current' ? true : LATER;
          const json = { query: WHAT_HOLDS_QUERY, top_k: 20, user_id: user, [field]: value };
          return getIds((await send<RecallResponse>(port, { method: 'POST', path: '/recall', json })).body.results);
        },
      },
      {
        name: `the text of a context, as for ${field}`,
        ...{ ...common, byText: true },
        async read(port, { user }) {
          const asked_at = field === 'current' ? {} : { asked_at: LATER };
          const json = { user_id: user, budget: 20_000, ...asked_at };
          const { text } = (await send<ContextResponse>(port, { method: 'POST', path: '/context', json })).body;
          return readListing(text).map((memory) => memory.text);
        },
      },
      {
        name: `memories with ${field}`,
        ...common,
        async read(port, { user }) {
          const path = `/memories?user_id=${encodeURIComponent(user)}&${time}`;
          return getIds((await get<MemoriesResponse>(port, path)).memories);
        },
      },
      {
        name: `session with ${field}`,
        ...common,
        ...TRANSCRIPT,
        async read(port, { user }) {
          return getIds((await get<SessionResponse>(port, `/session/${encodeURIComponent(user)}?${time}`)).memories);
        },
      },
      {
        name: `sessions with ${field}`,
        ...{ ...common, returns: 'count', withoutSummaries: true },
        async read(port, { user }) {
          const path = `/sessions?user_id=${encodeURIComponent(user)}&${time}`;
          const { sessions } = await get<SessionsResponse>(port, path);
          return [String(sessions.reduce((sum, { total }) => sum + total, 0))];
        },
      },
    ];
  });
  testWhatHolds(
    [
      ...readers,
      {
        name: 'recall without superseded memories',
        returns: 'unreplaced',
        read: async (port, { user }) =>
          getIds((await get<RecallResponse>(port, `${recall(user)}&superseded=false`)).results),
      },
      {
        name: 'superseded_by in recall',
        returns: 'replacements',
        read: async (port, { user }) => withSuccessors((await get<RecallResponse>(port, recall(user))).results),
      },
    ],
    async (port) => ({ connection: port }),
  );
});

describe('MCP', () => {
  // The tools have no parameter for a user.
  const toRecall = (user: string) => ({ query: WHAT_HOLDS_QUERY, top_k: 20, tags: [user] });
  const readers: WhatHoldsReader<Agent>[] = [
    {
      name: 'the recall tool',
      read: async (agent, { user }) =>
        getIds((await agent.call<RecallResponse>('memory_recall', toRecall(user))).results),
    },
    {
      name: 'the text of the recall tool',
      byText: true,
      async read(agent, { user }) {
        return readListing(getText(await agent.result('memory_recall', toRecall(user)))).map(({ text }) => text);
      },
    },
    {
      name: 'the recall tool with as_of',
      time: LATER,
      read: async (agent, { user }) =>
        getIds((await agent.call<RecallResponse>('memory_recall', { ...toRecall(user), as_of: LATER })).results),
    },
    {
      name: 'the recall tool with current false',
      returns: 'replacements',
      read: async (agent, { user }) =>
        withSuccessors(
          (await agent.call<RecallResponse>('memory_recall', { ...toRecall(user), current: false })).results,
        ),
    },
    {
      name: 'the recall tool with a word for before',
      returns: 'replacements',
      async read(agent, { user }) {
        const request = { ...toRecall(user), query: `What did the ${WHAT_HOLDS_QUERY} eat before?` };
        return withSuccessors((await agent.call<RecallResponse>('memory_recall', request)).results);
      },
    },
    {
      name: 'the session tool',
      ...TRANSCRIPT,
      read: async (agent, { user }) =>
        getIds((await agent.call<SessionResponse>('memory_session', { session_id: user })).memories),
    },
  ];
  testWhatHolds(readers, async (port) => {
    const agent = await httpAgent(port);
    return { connection: agent, close: () => agent.end() };
  });
});

describe('the command line', () => {
  const run = <Answer>(port: number, ...args: string[]) =>
    getJsonInProcess<Answer>([...args, '--url', `http://127.0.0.1:${port}`]);
  const readers: WhatHoldsReader<number>[] = [
    {
      name: 'recall --no-superseded',
      returns: 'unreplaced',
      async read(port, { user }) {
        const flags = ['--user', user, '--top-k', '20', '--no-superseded'];
        return getIds((await run<RecallResponse>(port, 'recall', WHAT_HOLDS_QUERY, ...flags)).results);
      },
    },
    {
      name: 'list',
      returns: 'replacements',
      read: async (port, { user }) =>
        withSuccessors((await run<MemoriesResponse>(port, 'list', '--user', user)).memories),
    },
  ];
  testWhatHolds(readers, async (port) => ({ connection: port }));
});
