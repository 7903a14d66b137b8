import type { RecallResponse, StoreRequest } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
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
let memory: MemoryClient;
beforeAll(() => {
  memory = new MemoryClient({ url: getUrl() });
});

/** The places where a user meets memories. Each returns the texts that a model or a person reads for a question. */
const PLACES: Record<string, (user: string) => Promise<string[]>> = {
  'REST with current': async (user) => toTexts(await memoryd.recall(QUESTION, `top_k=20&current=true&user_id=${user}`)),
  'REST with superseded=false': async (user) =>
    toTexts(await memoryd.recall(QUESTION, `top_k=20&superseded=false&user_id=${user}`)),
  'the MCP tool': (user) =>
    withAgent(user, async (agent) =>
      toTexts(await agent.call<RecallResponse>('memory_recall', { query: QUESTION, top_k: 20 })),
    ),
  'the MCP prompt': (user) =>
    withAgent(user, async ({ client }) => {
      const { messages } = await client.getPrompt({ name: 'memory_context', arguments: { task: QUESTION } });
      return messages.map(({ content }) => (content.type === 'text' ? content.text : ''));
    }),
  'the context of a session': async (user) => {
    const talk = session(memory, `${user} asks`, { ...PATIENT, userId: user });
    return (await talk.context(QUESTION, { tokens: 10_000 })).memories.map(({ content }) => content);
  },
  'the AI SDK': async (user) => {
    const sdk = SDKS[1] as (typeof SDKS)[number];
    const model = createModel(sdk, createResult([text('I see.')]));
    const middleware = memoryMiddleware(memory, {
      ...PATIENT,
      userId: user,
      sessionId: `${user} talks`,
      tokens: 10_000,
    });
    await sdk.ai.generateText({ model: sdk.ai.wrapLanguageModel({ model, middleware }), prompt: QUESTION });
    await flushStores(memory, PATIENT);
    return getTexts(model.doGenerateCalls[0]?.prompt).flat();
  },
  LangChain: async (user) => {
    const retriever = new MemoryRetriever({ ...PATIENT, memory, userId: user });
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

/** A story of one user. */
interface Story {
  user: string;
  title: string;
  /** Stores memories before the first consolidation run. */
  begin(user: string): Promise<unknown>;
  /** Changes memories after that run. */
  change?(user: string): Promise<unknown>;
  /** A word that each place must show in the end. */
  shown: string;
  /** A word that no place may show in the end. */
  hidden: string;
  /** Whether the hidden memories ended, or have not begun, without a successor. */
  isUnreplaced?: true;
}

const HABITS = [
  'Petra waters the tomatoes in the Aldgrove greenhouse at dawn.',
  'At dawn, Petra gives the tomatoes in the Aldgrove greenhouse water.',
  'The tomatoes in the Aldgrove greenhouse get their water from Petra at dawn.',
];
const toNightfall = (habit = '') => habit.replace('dawn', 'nightfall');
const ids = new Map<string, string[]>();

async function storeHabits(user: string): Promise<void> {
  const stored: string[] = [];
  for (const [day, habit] of HABITS.entries()) stored.push(await add(user, habit, { session_id: `day ${day}` }));
  ids.set(user, stored);
}

/** Calls `change` for each habit, which the first run must have distilled. */
async function changeHabits(user: string, change: (id: string, day: number) => Promise<unknown>): Promise<void> {
  const { memories } = await memoryd.memories(`tier=semantic&user_id=${user}`);
  expect(memories.map(({ content }) => content)).toEqual([expect.stringContaining('dawn')]);
  for (const [day, id] of (ids.get(user) ?? []).entries()) await change(id, day);
}

const STORIES: Story[] = [
  {
    user: 'corrects',
    title: 'facts that were distilled and then corrected',
    begin: storeHabits,
    change: (user) =>
      changeHabits(user, (supersedes, day) =>
        add(user, toNightfall(HABITS[day]), { session_id: `day ${day}`, supersedes }),
      ),
    ...{ shown: 'nightfall', hidden: 'dawn' },
  },
  {
    user: 'edits',
    title: 'facts that were distilled and then updated',
    begin: storeHabits,
    change: (user) => changeHabits(user, (id, day) => memory.update(id, { content: toNightfall(HABITS[day]) })),
    ...{ shown: 'nightfall', hidden: 'dawn' },
  },
  {
    user: 'ceases',
    title: 'facts that were distilled and then ended',
    begin: storeHabits,
    async change(user) {
      await changeHabits(user, (id) => memory.update(id, { valid_to: new Date().toISOString() }));
      await add(user, toNightfall(HABITS[0]));
    },
    ...{ shown: 'nightfall', hidden: 'dawn', isUnreplaced: true },
  },
  {
    user: 'expires',
    title: 'a fact whose temporary replacement has expired',
    async begin(user) {
      const id = await add(user, water('seven'));
      await add(user, water('nine'), { supersedes: id, expires_at: '2020-01-01T00:00:00Z' });
    },
    ...{ shown: 'seven', hidden: 'nine' },
  },
  {
    user: 'waits',
    title: 'a fact whose replacement has not begun',
    async begin(user) {
      const id = await add(user, water('seven'));
      await add(user, water('nine'), { supersedes: id, valid_from: '2999-01-01T00:00:00Z' });
    },
    ...{ shown: 'seven', hidden: 'nine', isUnreplaced: true },
  },
  {
    user: 'repeats',
    title: 'equal facts of which one was corrected',
    async begin(user) {
      const session_id = 'one';
      await add(user, water('seven'), { session_id });
      const id = await add(user, ` ${water('seven')}`, { session_id });
      await add(user, water('seven'), { session_id, source: 'mail' });
      await add(user, water('nine'), { session_id, supersedes: id });
    },
    ...{ shown: 'nine', hidden: 'seven' },
  },
  {
    user: 'returns',
    title: 'a fact that was stored again after its correction',
    async begin(user) {
      const session_id = 'one';
      const id = await add(user, water('seven'), { session_id });
      const correction = await add(user, water('nine'), { session_id, supersedes: id });
      await add(user, water('seven'), { session_id, supersedes: correction });
    },
    ...{ shown: 'seven', hidden: 'nine' },
  },
];

/** Returns what is wrong in the places: what they do not show, and what they show by mistake. */
async function findWrong({ user, shown, hidden, isUnreplaced = false }: Story): Promise<string[]> {
  const wrong: string[] = [];
  for (const [place, read] of Object.entries(PLACES)) {
    const texts = (await read(user)).join('\n').replaceAll(QUESTION, '');
    if (!texts.includes(shown)) wrong.push(`${place} does not show ${shown}`);
    const mayShow = isUnreplaced && SUPERSEDED_ALONE.includes(place);
    if (!mayShow && texts.includes(hidden)) wrong.push(`${place} shows ${hidden}`);
  }
  if (isUnreplaced) return wrong;
  const found = toTexts(await memoryd.recall(QUESTION, `user_id=${user}`)).filter((content) => content !== QUESTION);
  if (!found[0]?.includes(shown)) wrong.push(`the best result of REST is ${found[0]}`);
  return wrong;
}

/** Places that leave out only what was superseded. */
const SUPERSEDED_ALONE = ['REST with superseded=false', 'the command line'];

describe('every place shows what holds', () => {
  const atOnce = new Map<string, string[]>();
  const afterRuns = new Map<string, string[]>();
  beforeAll(async () => {
    for (const { user, begin } of STORIES) await begin(user);
    await memoryd.embedded();
    await memoryd.consolidate();
    for (const { user, change } of STORIES) await change?.(user);
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

describe('a full tier', () => {
  const full = useServer({ env: { ...WORDS_ONLY, SERVICE_EPISODIC_MAX: '1' } });

  it('a full tier keeps the correction and evicts the outdated fact, however important it is', async () => {
    const id = await full.store({ content: water('seven'), importance: 1 });
    await full.recall('tomatoes');
    const correction = await full.store({ content: water('nine'), importance: 0, supersedes: id });
    for (let run = 0; run < 2; run++) {
      await full.consolidate();
      expect((await full.memories()).memories).toMatchObject([{ id: correction }]);
    }
  });
});
