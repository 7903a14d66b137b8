import { client } from './memoryd/client.gen.ts';
import {
  downloadBackup,
  type ExportLine,
  exportMemories,
  type Filter,
  getMemory,
  importMemories,
  listMemories,
  type Memory,
  type RecallResult,
  recallMemories,
  type Error as ServiceError,
  type StoreRequest,
  storeMemories,
} from './memoryd/index.ts';

client.setConfig({
  baseUrl: process.env.MEMORYD_URL ?? 'http://127.0.0.1:8090',
  auth: process.env.MEMORYD_API_KEY ?? '',
});

const memories: StoreRequest[] = [
  { user_id: 'ada', content: 'The light switch of the kitchen is behind the door.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The stove of the kitchen burns gas.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The light switch of the cellar is on the stairs.', metadata: { room: 2 } },
  { user_id: 'grace', content: 'The light switch of the hall glows at night.', metadata: { room: 1 } },
];
await storeMemories({ body: memories });

const recalled = await recallMemories({
  query: { query: 'Where is the light switch?', user_id: 'ada', metadata: { room: '1' } },
});
const results: RecallResult[] = recalled.data.results;
for (const { content } of results) console.log(`recalled: ${content}`);

let cursor: string | undefined;
do {
  const page = await listMemories({ query: { user_id: 'ada', metadata: { room: '1' }, limit: 1, cursor } });
  const listed: Memory[] = page.data.memories;
  for (const { content } of listed) console.log(`listed: ${content}`);
  cursor = page.data.next_cursor;
} while (cursor);

const filter: Filter = { 'metadata.room': { $lt: 2 } };
const exported = await exportMemories({ query: { user_id: 'ada', filter: JSON.stringify(filter) } });
const text = await exported.data.text();
const lines = text
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ExportLine);
const imported = await importMemories({ body: lines, auth: process.env.MEMORYD_COPY_API_KEY ?? '' });
if ('imported_count' in imported.data) console.log(`imported: ${imported.data.imported_count}`);

const backup = await downloadBackup();
console.log(`backup: ${await backup.data.slice(0, 15).text()}`);

// Without throwOnError, the error has the type Error instead of being thrown.
const { error } = await getMemory({ path: { memory_id: 'unknown' }, throwOnError: false });
const unknown: ServiceError | undefined = error;
console.log(`error: ${unknown?.error.code}`);
