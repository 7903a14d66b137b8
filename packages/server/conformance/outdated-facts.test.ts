import type { RecallResponse, StoreRequest } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModel, createResult, getTexts, text } from '../../ai-sdk/conformance/mock-model.ts';
import { SDKS } from '../../ai-sdk/conformance/sdks.ts';
import { memoryMiddleware } from '../../ai-sdk/src/index.ts';
import { MemoryClient } from '../../client/src/index.ts';
import { flushStores, session } from '../../client/src/session.ts';
import { MemoryRetriever } from '../../langchain/src/index.ts';
import { type Agent, httpAgent } from './agent.ts';
import { getJsonInProcess } from './command-in-process.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

/** Turns off automatic consolidation. The default embedder stays on, because distilling needs vectors. */
const MANUAL_CONSOLIDATION = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
const PATIENT = { timeoutMs: 60_000 };
const QUESTION = 'When are the tomatoes in the Aldgrove greenhouse watered?';

const memoryd = useServer({ env: MANUAL_CONSOLIDATION });
const getUrl = () => `http://127.0.0.1:${memoryd.server.port}`;
const getMemory = () => new MemoryClient({ url: getUrl() });

/** The places where a user meets memories. Each returns the texts that a model or a person reads for a question. */
const PLACES: Record<string, (user: string) => Promise<string[]>> = {
  'REST with current': async (user) => toTexts(await memoryd.recall(QUESTION, `top_k=20&current=true&user_id=${user}`)),
  'REST with superseded=false': async (user) =>
    toTexts(await memoryd.recall(QUESTION, `top_k=20&superseded=false&user_id=${user}`)),
  'the MCP tool': (user) =>
    withAgent(user, async (agent) => toTexts(await agent.call<RecallResponse>('recall', { query: QUESTION, top_k: 20 }))),
  'the MCP prompt': (user) =>
    withAgent(user, async ({ client }) => {
      const { messages } = await client.getPrompt({ name: 'recall_context', arguments: { task: QUESTION } });
      return messages.map(({ content }) => (content.type === 'text' ? content.text : ''));
    }),
  'the context of a session': async (user) => {
    const talk = session(getMemory(), `${user} asks`, { ...PATIENT, userId: user });
    return (await talk.context(QUESTION, { tokens: 10_000 })).items.map(({ content }) => content);
  },
  'the AI SDK': async (user) => {
    const sdk = SDKS[1] as (typeof SDKS)[number];
    const memory = getMemory();
    const model = createModel(sdk, createResult([text('I see.')]));
    const middleware = memoryMiddleware(memory, { ...PATIENT, userId: user, sessionId: `${user} talks`, tokens: 10_000 });
    await sdk.ai.generateText({ model: sdk.ai.wrapLanguageModel({ model, middleware }), prompt: QUESTION });
    await flushStores(memory, PATIENT);
    return getTexts(model.doGenerateCalls[0]?.prompt).flat();
  },
  LangChain: async (user) => {
    const retriever = new MemoryRetriever({ ...PATIENT, memory: getMemory(), userId: user });
    return (await retriever.invoke(QUESTION)).map(({ pageContent }) => pageContent);
  },
  'the command line': async (user) => {
    const flags = ['--user', user, '--top-k', '20', '--no-superseded', '--url', getUrl()];
    return toTexts(await getJsonInProcess<RecallResponse>(['recall', QUESTION, ...flags]));
  },
};

const toTexts = ({ results }: RecallResponse) => results.map(({ content }) => content);

async function withAgent<Answer>(user: string, use: (agent: Agent) => Promise<Answer>): Promise<Answer> {
  const agent = await httpAgent(memoryd.server.port, {}, `?user_id=${user}`);
  try {
    return await use(agent);
  } finally {
    await agent.end();
  }
}

const water = (time: string) => `The tomatoes in the Aldgrove greenhouse are watered at ${time}.`;
const add = (user: string, content: string, fields: Partial<StoreRequest> = {}) =>
  memoryd.store({ content, user_id: user, ...fields });

/** A story of one user: what the user's memories say in the end, and what no place may show any more. */
interface Story {
  user: string;
  title: string;
  /** Before the first consolidation run. */
  begin(): Promise<void>;
  /** After that run. */
  change?(): Promise<void>;
  shown: string[];
  hidden: string[];
}

const HABITS = ['Petra waters the tomatoes in the Aldgrove greenhouse at dawn', 'At dawn, Petra gives the tomatoes in the Aldgrove greenhouse water', 'The tomatoes in the Aldgrove greenhouse get their water from Petra at dawn'];
const ids: Record<string, string[]> = {};

const storeHabits = async (user: string) => {
  ids[user] = [];
  for (const [i, habit] of HABITS.entries()) ids[user].push(await add(user, `${habit}.`, { session_id: `day ${i}` }));
};
const endTheSummary = async (user: string) => {
  const path = `tier=semantic&user_id=${user}`;
  expect((await memoryd.memories(path)).memories, user).toMatchObject([{ derived_from: expect.any(Array) }]);
};

const STORIES: Story[] = [
  {
    user: 'corrects',
    title: 'three facts that were distilled and then corrected',
    begin: () => storeHabits('corrects'),
    async change() {
      await endTheSummary('corrects');
      for (const [i, id] of (ids.corrects ?? []).entries()) {
        const content = `${HABITS[i]?.replace(/at dawn/i, 'at nightfall')}.`.replace('At dawn', 'At nightfall');
        await add('corrects', content, { session_id: `day ${i}`, supersedes: id });
      }
    },
    shown: ['nightfall'],
    hidden: ['dawn'],
  },
  {
    user: 'edits',
    title: 'a distilled fact whose text was updated',
    begin: () => storeHabits('edits'),
    async change() {
      await endTheSummary('edits');
      for (const [i, id] of (ids.edits ?? []).entries()) {
        const content = `${HABITS[i]?.replace(/at dawn/i, 'at nightfall')}.`;
        expect((await memoryd.update(id, { content })).status).toBe(200);
      }
    },
    shown: ['nightfall'],
    hidden: ['dawn'],
  },
  {
    user: 'expires',
    title: 'a fact whose temporary replacement has expired',
    async begin() {
      const id = await add('expires', water('seven'));
      await add('expires', water('nine'), { supersedes: id, expires_at: '2020-01-01T00:00:00Z' });
    },
    shown: ['seven'],
    hidden: ['nine'],
  },
  {
    user: 'ends',
    title: 'a fact whose temporary replacement has ended',
    async begin() {
      const id = await add('ends', water('seven'), { created_at: '2026-01-01T00:00:00Z' });
      const [created_at, valid_to] = ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'];
      await add('ends', water('nine'), { supersedes: id, created_at, valid_to });
    },
    shown: ['seven'],
    hidden: [],
  },
  {
    user: 'repeats',
    title: 'two equal facts of which one was corrected',
    async begin() {
      const session_id = 'one';
      await add('repeats', water('seven'), { session_id });
      const id = await add('repeats', ` ${water('seven')}`, { session_id });
      await add('repeats', water('seven'), { session_id, source: 'mail' });
      await add('repeats', water('nine'), { session_id, supersedes: id });
    },
    shown: ['nine'],
    hidden: ['seven'],
  },
  {
    user: 'returns',
    title: 'a fact that was stored again after its correction',
    async begin() {
      const session_id = 'one';
      const id = await add('returns', water('seven'), { session_id });
      const correction = await add('returns', water('nine'), { session_id, supersedes: id });
      await add('returns', water('seven'), { session_id, supersedes: correction });
    },
    shown: ['seven'],
    hidden: ['nine'],
  },
];

/** Returns what is wrong in the places: what they do not show, and what they show by mistake. */
async function findWrong({ user, shown, hidden }: Story): Promise<string[]> {
  const wrong: string[] = [];
  for (const [place, read] of Object.entries(PLACES)) {
    const read_ = (await read(user)).join('\n').replace(QUESTION, '');
    for (const word of shown) if (!read_.includes(word)) wrong.push(`${place} does not show ${word}`);
    for (const word of hidden) if (read_.includes(word)) wrong.push(`${place} shows ${word}`);
  }
  return wrong;
}

describe('every place shows what holds', () => {
  const atOnce = new Map<string, string[]>();
  const afterRuns = new Map<string, string[]>();
  beforeAll(async () => {
    for (const { begin } of STORIES) await begin();
    await memoryd.embedded();
    await memoryd.consolidate();
    for (const { change } of STORIES) await change?.();
    for (const story of STORIES) atOnce.set(story.user, await findWrong(story));
    await memoryd.embedded();
    await memoryd.consolidate();
    await memoryd.consolidate();
    for (const story of STORIES) afterRuns.set(story.user, await findWrong(story));
  });

  it.each(STORIES)('every place shows what holds of $title, at once', ({ user }) => {
    expect(atOnce.get(user)).toEqual([]);
  });
  it.each(STORIES)('every place shows what holds of $title, after two consolidation runs', ({ user }) => {
    expect(afterRuns.get(user)).toEqual([]);
  });
});
