import type { ConsolidationResponse, Memory, MemoryApi, StatsResponse, StoreRequest } from '@memoryd/contract';
import type { Engine } from '../engine.ts';
import { openEngine } from '../open-engine.ts';

/** The contents of a namespace, except values that are computed per request. */
export interface NamespaceContents {
  memories: Omit<Memory, 'retention'>[];
  histories: { id: string; texts: string[] }[];
  sessions: { session_id: string; ids: string[]; attachments: string[] }[];
  runs: ConsolidationResponse[];
  counts: Pick<StatsResponse, 'working_count' | 'episodic_count' | 'semantic_count' | 'last_sleep_at'>;
}

/** The contents of a file when it was written, which every later version must preserve. */
export interface FilledFile {
  /** Time at which it was closed, in milliseconds since 1970 in UTC; expiry and retention depend on it. */
  madeAt: number;
  contents: Record<string, NamespaceContents>;
  /** Queries and the memory that each must return first once all memories are embedded. */
  asked: { namespace: string; query: string; id: string }[];
  /** Number of memories without vectors. */
  pending: number;
  /** A request that was made with an idempotency key, and the id that it returned. */
  repeated: { key: string; request: StoreRequest; id: string };
  /** The latest run of a namespace and the memories that it evicted from a tier with a maximum. */
  evicted: { namespace: string; runId: string; ids: string[] };
  /** Forgotten ids, and a word of which no byte may remain. */
  forgotten: { ids: string[]; word: string };
}

const START = Date.parse('2026-02-02T09:00:00Z');
const HOUR_MS = 3_600_000;

const OTHERS: StoreRequest[] = [
  { content: 'The quarterly tax return is due on the last day of the month.', importance: 0.9 },
  { content: 'Jonas broke his left arm while skating on the frozen canal.', tags: ['health'], source: 'chat' },
  { content: 'Our golden retriever swallowed a sock, so Dr. Ellis operated on Tuesday.' },
  { content: 'Unser Hausmeister wechselt die Filter der Lüftung jeden Herbst.', metadata: { lang: 'de', floor: 3 } },
  {
    content: '鈴木さんは毎朝六時に犬の散歩をします。',
    tags: ['日本'],
    metadata: { nested: { deep: [1, 'zwei', null] } },
  },
  {
    content: 'Бабушка хранит варенье в погребе за домом.',
    attachment: '{"image":"data:image/png;base64,iVBORw0KGgo="}',
  },
  { content: 'const retryDelayMs = 250; // see QX-7741 🎉', source: 'editor' },
  { content: 'The archive of 1998 lies in box seven.', created_at: '1998-05-04T08:00:00Z', importance: 0 },
  { content: Array.from({ length: 60 }, (_, i) => `Entry ${i} of the harbour log says that it rained.`).join(' ') },
];
const GREENHOUSE = [
  'Mara planted twelve tomato seedlings in the Aldgrove greenhouse.',
  'The tomato seedlings in the Aldgrove greenhouse need water every second day.',
  'Mara moved the tomato plants in the Aldgrove greenhouse away from the heater.',
  'The tomatoes in the Aldgrove greenhouse are ripening, Mara says.',
  'Mara picked the first ripe tomatoes in the Aldgrove greenhouse.',
];
const DIALOGUE = [
  'Ada: When does the ferry to Brennholm leave?',
  'Ben: The ferry to Brennholm leaves at seven.',
  'Ada: Then I will be back on Sunday.',
];
const FORGOTTEN_WORD = 'quillstone';

/** Opens a file as the server does, but without scheduled consolidation and with a fixed clock. */
export async function openAt(
  dbPath: string,
  now: () => number,
  options: { embedder?: string; episodicMax?: number } = {},
): Promise<Engine> {
  return openEngine({
    dbPath,
    embedder: 'minilm',
    embeddingUrl: '',
    consolidationIntervalSeconds: 0,
    workingAgeSeconds: 3600,
    archiveDays: 30,
    workingMax: 10_000,
    episodicMax: 0,
    semanticMax: 0,
    maxAnswerBytes: 16 * 1024 * 1024,
    telemetry: { report: () => {} },
    clock: { now },
    ...options,
  });
}

/** Resolves when every memory of a namespace is embedded. */
export async function waitUntilEmbedded(api: MemoryApi): Promise<void> {
  while ((await api.stats()).pending_embeddings > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Writes a file of the current schema with data of every kind, and returns its contents. */
export async function fillFile(dbPath: string): Promise<FilledFile> {
  let now = START;
  const ids: Record<string, string[]> = { default: [], 'team b': [], full: [] };
  const storeInto = async (api: MemoryApi, namespace: string, requests: StoreRequest[]) => {
    const stored: string[] = [];
    for (const request of requests) {
      now += 1000;
      stored.push((await api.store(request)).id);
    }
    ids[namespace]?.push(...stored);
    return stored;
  };
  const consolidate = async (api: MemoryApi) => {
    now += 2 * HOUR_MS;
    return (await api.consolidate()).id ?? '';
  };

  let engine = await openAt(dbPath, () => now);
  let api = engine.namespace('default');
  let store = (requests: StoreRequest[]) => storeInto(api, 'default', requests);
  const others = await store(OTHERS);
  await store(GREENHOUSE.map((content) => ({ content, tags: ['garden', 'mara'], importance: 0.7 })));
  await store(DIALOGUE.map((content) => ({ content, session_id: 'harbour', source: 'chat' })));
  await store(['tea', 'at four'].map((tag) => ({ content: 'Café at four', tags: [tag], session_id: 'monday' })));
  const [wrong = ''] = await store([{ content: 'The spare key hangs behind the blue door.' }]);
  const [right = ''] = await store([{ content: 'The spare key is with Mrs. Okafor now.', supersedes: wrong }]);
  const [changed = ''] = await store([{ content: 'Rent is due on Friday.' }]);
  for (const content of ['Rent is due on Monday.', 'Rent is due on the first.']) {
    now += 60_000;
    await api.update(changed, { content, tags: ['money'], metadata: { rooms: 3 } });
  }
  const expiresAt = new Date(now + HOUR_MS).toISOString();
  await store([{ content: 'The coupon is worth five euros.', expires_at: expiresAt }]);
  const [gone = ''] = await store([{ content: `The ${FORGOTTEN_WORD} stands by the gate.` }]);
  await api.forget(gone);
  await waitUntilEmbedded(api);
  await consolidate(api);

  await store([{ content: 'Mara sold the last tomatoes of the Aldgrove greenhouse.', tags: ['garden'] }]);
  const teamB = engine.namespace('team b');
  await storeInto(teamB, 'team b', [...OTHERS, ...GREENHOUSE.map((content) => ({ content }))]);
  await waitUntilEmbedded(teamB);
  await consolidate(teamB);
  const [declined] = (await teamB.memories({ tier: 'semantic' })).memories;
  if (!declined) throw new Error('nothing was distilled');
  await teamB.forget(declined.id);
  await storeInto(teamB, 'team b', [{ content: 'The hiking boots need new laces.' }]);
  await waitUntilEmbedded(teamB);
  await teamB.undo(await consolidate(teamB));
  for (let times = 0; times < 3; times++) await api.recall({ query: 'Which pet needed surgery?', top_k: 1 });
  await engine.close();

  engine = await openAt(dbPath, () => now, { episodicMax: 3 });
  const full = engine.namespace('full');
  await storeInto(
    full,
    'full',
    OTHERS.slice(0, 5).map((request, i) => ({ ...request, importance: i / 10 })),
  );
  await waitUntilEmbedded(full);
  const fullRun = await consolidate(full);
  const { changes } = await full.consolidation({ id: fullRun });
  const evicted = changes.filter(({ reason }) => reason === 'maximum').map(({ memory_id }) => memory_id);
  if (evicted.length === 0) throw new Error('nothing was evicted');
  await engine.close();

  // Memories stored without a model are pending in the file.
  engine = await openAt(dbPath, () => now, { embedder: 'none' });
  api = engine.namespace('default');
  store = (requests) => storeInto(api, 'default', requests);
  const [late = ''] = await store([{ content: 'The lighthouse keeper writes down the wind at noon.' }]);
  const request = { content: 'Stored once, whatever happens.', tags: ['once'] };
  const { id: once } = await api.store(request, { idempotencyKey: 'the key' });
  ids.default?.push(once);
  const contents: FilledFile['contents'] = {};
  for (const [namespace, all] of Object.entries(ids)) {
    contents[namespace] = await getContents(engine.namespace(namespace), all);
  }
  const pending = (await api.stats()).pending_embeddings;
  await engine.close();
  return {
    madeAt: now,
    contents,
    asked: [
      { namespace: 'default', query: 'veterinary surgery for a dog', id: others[2] ?? '' },
      { namespace: 'default', query: 'QX-7741', id: others[6] ?? '' },
      { namespace: 'default', query: 'варенье', id: others[5] ?? '' },
      { namespace: 'default', query: 'Where is the spare key?', id: right },
      { namespace: 'default', query: 'who records the weather from a tower by the sea', id: late },
      { namespace: 'team b', query: 'veterinary surgery for a dog', id: ids['team b']?.[2] ?? '' },
    ],
    pending,
    repeated: { key: 'the key', request, id: once },
    evicted: { namespace: 'full', runId: fullRun, ids: evicted },
    forgotten: { ids: [gone], word: FORGOTTEN_WORD },
  };
}

/** Returns the contents of a namespace, for the ids of its memories. Hidden memories are omitted. */
export async function getContents(api: MemoryApi, ids: readonly string[]): Promise<NamespaceContents> {
  const { memories: semantic } = await api.memories({ tier: 'semantic' });
  const memories: NamespaceContents['memories'] = [];
  const histories: NamespaceContents['histories'] = [];
  for (const id of new Set([...ids, ...semantic.map((memory) => memory.id)])) {
    const memory = await api.memory(id).catch(() => undefined);
    if (!memory) continue;
    const { retention, ...stored } = memory;
    memories.push(stored);
    const { texts } = await api.history(id);
    histories.push({ id, texts: texts.map(({ content }) => content) });
  }
  const sessions: NamespaceContents['sessions'] = [];
  for (const { session_id } of (await api.sessions({})).sessions) {
    const transcript = await api.session({ session_id, attachments: true });
    const attachments = transcript.memories.flatMap(({ attachment }) => attachment ?? []);
    sessions.push({ session_id, ids: transcript.memories.map(({ id }) => id), attachments });
  }
  const runs: NamespaceContents['runs'] = [];
  for (const { id } of (await api.consolidations({})).consolidations) runs.push(await api.consolidation({ id }));
  const { working_count, episodic_count, semantic_count, last_sleep_at } = await api.stats();
  return {
    memories,
    histories,
    sessions,
    runs,
    counts: { working_count, episodic_count, semantic_count, last_sleep_at },
  };
}
