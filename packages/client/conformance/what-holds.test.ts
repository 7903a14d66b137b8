import type { MemoryApi } from '@memoryd/contract';
import { MEMORY_API_READERS, WHAT_HOLDS_QUERY, type WhatHoldsReader } from '@memoryd/suites';
import { testWhatHolds } from '../../server/conformance/what-holds-database.ts';
import { MemoryClient } from '../src/index.ts';
import { session } from '../src/session.ts';

const PATIENT = { timeoutMs: 60_000 };
const MANY = { tokens: 100_000 };

const SESSION_READERS: WhatHoldsReader<{ memory: MemoryApi }>[] = [
  {
    name: 'the turns of a context',
    ...{ byText: true, also: ['archived'], withoutSummaries: true },
    read: async ({ memory }, { user }) => readContext(memory, user, ''),
  },
  {
    name: 'a context with memories',
    ...{ byText: true, also: ['archived'] },
    read: async ({ memory }, { user }) => readContext(memory, user, WHAT_HOLDS_QUERY),
  },
];

async function readContext(memory: MemoryApi, user: string, query: string): Promise<string[]> {
  const talk = session(memory, user, { ...PATIENT, userId: user, context: { recent: true } });
  const { memories, turns } = await talk.context(query, MANY);
  return [...(query === '' ? [] : memories), ...turns].map(({ content }) => content);
}

// The service is tested at other times in the tests of the server.
const API_READERS = MEMORY_API_READERS.filter(({ time }) => time === undefined);

testWhatHolds([...API_READERS, ...SESSION_READERS], async (port) => ({
  connection: { memory: new MemoryClient({ url: `http://127.0.0.1:${port}/` }) },
}));
