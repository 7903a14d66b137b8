import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

const DIMENSIONS = 384;

/** An embedding model with negligible cost, so that measurements show the engine and not the model. */
export interface HashedEmbedder {
  settings: { embedder: string; embeddingUrl: string };
  close(): Promise<void>;
}

/** Starts a server with the OpenAI embeddings protocol. The server hashes the words of a text into a vector. */
export async function startHashedEmbedder(): Promise<HashedEmbedder> {
  const server = createServer(async (request, response) => {
    const { input } = (await json(request)) as { input: string | string[] };
    const data = [input].flat().map((text, index) => ({ object: 'embedding', index, embedding: hashWords(text) }));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ object: 'list', data }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    settings: { embedder: 'openai:hashed-words', embeddingUrl: `http://127.0.0.1:${port}/v1` },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Feature hashing: each word adds +1 or -1 at eight positions determined by its hash. */
function hashWords(text: string): number[] {
  const vector: number[] = new Array(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/\w+/g) ?? ['']) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
    for (let i = 0; i < 8; i++) {
      hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
      const at = (hash >>> 1) % DIMENSIONS;
      vector[at] = (vector[at] ?? 0) + (hash & 1 ? 1 : -1);
    }
  }
  return vector;
}
