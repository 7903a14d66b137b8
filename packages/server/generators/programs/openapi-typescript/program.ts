import createClient from 'openapi-fetch';
import type { components, paths } from './memoryd.d.ts';

type Memory = components['schemas']['Memory'];
type RecallResult = components['schemas']['RecallResult'];
type StoreRequest = components['schemas']['StoreRequest'];
type Filter = components['schemas']['Filter'];
type ExportLine = components['schemas']['ExportLine'];
type ServiceError = components['schemas']['Error'];

const baseUrl = process.env.MEMORYD_URL ?? 'http://127.0.0.1:8090';

function connect(key?: string) {
  return createClient<paths>({ baseUrl, headers: key ? { authorization: `Bearer ${key}` } : {} });
}

/** Returns the data of a response. Throws an error of the service. */
function getData<Data>({ data, error }: { data?: Data; error?: ServiceError }): Data {
  if (data === undefined) throw new Error(error?.error.message ?? 'the response has no data');
  return data;
}

const memoryd = connect(process.env.MEMORYD_API_KEY);

const memories: StoreRequest[] = [
  { user_id: 'ada', content: 'The light switch of the kitchen is behind the door.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The stove of the kitchen burns gas.', metadata: { room: 1 } },
  { user_id: 'ada', content: 'The light switch of the cellar is on the stairs.', metadata: { room: 2 } },
  { user_id: 'grace', content: 'The light switch of the hall glows at night.', metadata: { room: 1 } },
];
getData(await memoryd.POST('/store/batch', { body: memories }));

const recalled = getData(
  await memoryd.GET('/recall', {
    params: { query: { query: 'Where is the light switch?', user_id: 'ada', metadata: { room: '1' } } },
  }),
);
const results: RecallResult[] = recalled.results;
for (const { content } of results) console.log(`recalled: ${content}`);

let cursor: string | undefined;
do {
  const query = { user_id: 'ada', metadata: { room: '1' }, limit: 1, ...(cursor && { cursor }) };
  const page = getData(await memoryd.GET('/memories', { params: { query } }));
  const listed: Memory[] = page.memories;
  for (const { content } of listed) console.log(`listed: ${content}`);
  cursor = page.next_cursor;
} while (cursor);

const filter: Filter = { 'metadata.room': { $lt: 2 } };
const exported = getData(
  await memoryd.GET('/export', {
    params: { query: { user_id: 'ada', filter: JSON.stringify(filter) } },
    parseAs: 'text',
  }),
);
const lines = exported
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ExportLine);
const copy = connect(process.env.MEMORYD_COPY_API_KEY);
const imported = getData(await copy.POST('/import', { body: lines }));
if ('imported_count' in imported) console.log(`imported: ${imported.imported_count}`);

const backup = getData(await memoryd.GET('/backup', { parseAs: 'blob' }));
console.log(`backup: ${await backup.slice(0, 15).text()}`);

const { error } = await memoryd.GET('/memories/{memory_id}', { params: { path: { memory_id: 'unknown' } } });
const unknown: ServiceError | undefined = error;
console.log(`error: ${unknown?.error.code}`);
