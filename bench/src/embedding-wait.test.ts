import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { waitForEmbeddings } from './embedding-wait.ts';
import { assertHealthy, withServer } from './server-process.ts';

it('waitForEmbeddings waits for a model that opens after the start of the server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-bench-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const opening = new AbortController();
  const embeddings = createServer(async (request, response) => {
    const { input } = (await json(request)) as { input: string[] };
    if (!opening.signal.aborted) await once(opening.signal, 'abort');
    const data = input.map((_, index) => ({ index, embedding: [0.6, 0.8] }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }));
  });
  embeddings.listen(0, '127.0.0.1');
  await once(embeddings, 'listening');
  onTestFinished(() => void embeddings.close());
  const { port } = embeddings.address() as AddressInfo;
  const environment = { SERVICE_EMBEDDER: 'openai:late', SERVICE_EMBEDDING_URL: `http://127.0.0.1:${port}/v1` };
  const { signal } = new AbortController();
  const options = { folder, environment, connections: 2, signal, probe: assertHealthy };
  await withServer(options, async ({ client }) => {
    await client.store({ content: 'The ferry leaves at noon.' });
    expect(await client.health()).toMatchObject({ embedder: 'unavailable' });
    expect(await client.stats()).toMatchObject({ pending_embeddings: 0 });
    const waited = waitForEmbeddings(client, signal).then(() => client.stats());
    // Time in which a wait for pending embeddings alone would end.
    await delay(300);
    opening.abort();
    expect((await waited).embedding).toMatchObject({ embedded: 1, total: 1 });
  });
});
