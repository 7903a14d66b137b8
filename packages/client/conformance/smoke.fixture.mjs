// What a client does, in whichever runtime runs this file; its argument is where the service is. Prints what came of it.
import { eachMemory, MemoryClient } from '../dist/index.js';
import { session } from '../dist/session.js';

const memory = new MemoryClient({ url: process.argv[2] });
const bytes = (text) => new TextEncoder().encode(text);

async function lines() {
  const told = [];
  for await (const line of memory.exportMemories()) told.push(line);
  return told;
}

const leaving = new AbortController();
const following = (async () => {
  for await (const { type } of memory.events({ last_event_id: 'nobody.1' }, leaving.signal)) {
    if (type === 'stored') return type;
  }
})();
const { id } = await memory.store({ content: 'Ein Wendehals 🐦', tags: ['bird'] });
await memory.update(id, { importance: 1 }, { ifVersions: [1] });
const talk = session(memory, 'a/talk?', { userId: null });
await talk.add([{ role: 'user', content: 'Guten Morgen' }]);
const { items } = await talk.context('Wendehals', { tokens: 100 });
const refusal = await memory.memory('nobody').catch((error) => error);
const aborted = await memory.stats({ signal: AbortSignal.abort(new Error('gone')) }).catch((error) => error.message);
const exported = await lines();
await memory.forget(id);
const imported = await memory.importMemories(
  (async function* () {
    for (const line of exported) yield bytes(line);
  })(),
);
const listed = [];
for await (const { content } of eachMemory(memory, { limit: 1 })) listed.push(content);
const followed = await following;
leaving.abort();
const recalled = (await memory.recall({ query: 'wendehals' })).results.map(({ content }) => content);
// biome-ignore lint/suspicious/noConsole: what this program is for
console.log(
  JSON.stringify({
    context: items.map(({ content }) => content).sort(),
    refusal: [refusal.name, refusal.code, refusal.status],
    aborted,
    exported: exported.length,
    imported: imported.imported_count,
    listed: listed.sort(),
    followed,
    recalled,
  }),
);
