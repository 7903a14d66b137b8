import { chmodSync } from 'node:fs';
import { openEngine, verifyDatabase } from '@memoryd/engine';

/*
 * Runs an engine, as an application may. At each message of the parent process, performs an act with the same file, or
 * stores a text, and sends the result back.
 */
const dbPath = process.argv[2];
const open = () => openEngine({ dbPath, embedder: 'none', consolidationIntervalSeconds: 0 });

const engine = await open();
const memories = engine.namespace('default');

const acts = {
  store: async (content) => (await memories.store({ content })).id,
  async forgetInSecondEngine() {
    const second = await open();
    const { store, forget } = second.namespace('default');
    // A reader can block a purge, which opens the file without SQLite.
    while ((await forget((await store({ content: 'brief' })).id)).purge === 'pending');
    await second.close();
    return 'closed';
  },
  async verifyReadOnly() {
    chmodSync(dbPath, 0o400);
    const { code } = await verifyDatabase({ dbPath }).catch((error) => error);
    chmodSync(dbPath, 0o600);
    return code;
  },
};

process.on('message', async ({ act, argument }) => process.send({ result: await acts[act](argument) }));
process.send({ result: 'ready' });
