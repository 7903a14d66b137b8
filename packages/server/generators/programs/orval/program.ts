import {
  downloadBackup,
  type ExportLine,
  exportMemories,
  type Filter,
  getMemory,
  importMemoriesWithJson,
  listMemories,
  type Memory,
  type RecallResult,
  recallMemories,
  type Error as ServiceError,
  type StoreRequest,
  storeMemoriesWithJson,
} from './memoryd.ts';

// The generated client reads this variable.
process.env.MEMORYD_URL ??= 'http://127.0.0.1:8090';

function withKey(key?: string): RequestInit {
  return key ? { headers: { authorization: `Bearer ${key}` } } : {};
}

/** Returns a successful response. Throws an error of the service. */
function expectSuccess<Answer extends { status: number }>(response: Answer): Extract<Answer, { status: 200 }> {
  if (response.status !== 200) throw new Error(`the service responded with ${response.status}`, { cause: response });
  return response as Extract<Answer, { status: 200 }>;
}

const options = withKey(process.env.MEMORYD_API_KEY);

const memories: StoreRequest[] = [
  { user_id: 'ada', content: 'The light switch of the kitchen is behind the door.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The stove of the kitchen burns gas.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The light switch of the cellar is on the stairs.', metadata: { room: 2 } },
  { user_id: 'grace', content: 'The light switch of the hall glows at night.', metadata: { room: 1 } },
];
expectSuccess(await storeMemoriesWithJson(memories, {}, options));

const recalled = expectSuccess(
  await recallMemories({ query: 'Where is the light switch?', user_id: 'ada', metadata: { room: '1' } }, options),
);
const results: RecallResult[] = recalled.data.results;
for (const { content } of results) console.log(`recalled: ${content}`);

let cursor: string | undefined;
do {
  const request = { user_id: 'ada', metadata: { room: '1' }, limit: 1, ...(cursor && { cursor }) };
  const page = expectSuccess(await listMemories(request, options));
  const listed: Memory[] = page.data.memories;
  for (const { content } of listed) console.log(`listed: ${content}`);
  cursor = page.data.next_cursor;
} while (cursor);

const filter: Filter = { 'metadata.room': { $lt: 2 } };
const exported = expectSuccess(await exportMemories({ user_id: 'ada', filter: JSON.stringify(filter) }, options));
const text = await exported.stream.text();
const lines = text
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ExportLine);
const imported = expectSuccess(await importMemoriesWithJson(lines, {}, withKey(process.env.MEMORYD_COPY_API_KEY)));
if ('imported_count' in imported.data) console.log(`imported: ${imported.data.imported_count}`);

const backup = expectSuccess(await downloadBackup(options));
console.log(`backup: ${await backup.data.slice(0, 15).text()}`);

const unknown = await getMemory('unknown', {}, options);
if (unknown.status === 404) {
  const { error }: ServiceError = unknown.data;
  console.log(`error: ${error.code}`);
}
