// Exercises the client in the current runtime against the service at the URL in the first argument. Prints the results.
import { eachMemory, MemoryClient } from '../dist/index.js';
import { session } from '../dist/session.js';

const memory = new MemoryClient({ url: process.argv[2] });
const bytes = (text) => new TextEncoder().encode(text);

async function exportLines() {
  const lines = [];
  for await (const line of memory.exportMemories()) lines.push(line);
  return lines;
}

const controller = new AbortController();
const following = (async () => {
  for await (const { type } of memory.events({ last_event_id: 'nobody.1' }, controller.signal)) {
    if (type === 'stored') return type;
  }
})();
const { id } = await memory.store({ content: 'Ein Wendehals 🐦', tags: ['bird'] });
await memory.update(id, { importance: 1 }, { ifVersions: [1] });
const talk = session(memory, 'a/talk?', { userId: null, timeoutMs: 30_000 });
talk.add([{ role: 'user', content: 'Guten Morgen' }]);
await talk.flush();
const { memories, turns } = await talk.context('Ein Wendehals', { tokens: 200 });
const refusal = await memory.memory('nobody').catch((error) => error);
const aborted = await memory.stats({ signal: AbortSignal.abort(new Error('gone')) }).catch((error) => error.message);
const exported = await exportLines();
await memory.forget(id);
const imported = await memory.importMemories(
  (async function* () {
    for (const line of exported) yield bytes(line);
  })(),
);
const listed = [];
for await (const { content } of eachMemory(memory, { limit: 1 })) listed.push(content);
const followed = await following;
controller.abort();
const recalled = (await memory.recall({ query: 'wendehals' })).results.map(({ content }) => content);
// biome-ignore lint/suspicious/noConsole: the output of this program
console.log(
  JSON.stringify({
    context: [...memories, ...turns].map(({ content }) => content).sort(),
    refusal: [refusal.name, refusal.code, refusal.status],
    aborted,
    exported: exported.length,
    imported: imported.imported_count,
    listed: listed.sort(),
    followed,
    recalled,
  }),
);
