import { readFileSync } from 'node:fs';
import type { StoreRequest } from '@memoryd/contract';
import { splitIntoBatches } from '../batches.ts';
import { waitForEmbeddings } from '../embedding-wait.ts';
import type { HttpClient } from '../http-client.ts';
import { assertHealthy, startServer } from '../server-process.ts';
import type { Peer, PeerKind, PeerMemory } from './peer.ts';

/** memoryd as a separate server process over HTTP. */
export function memoryd(): PeerKind {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return {
    name: 'memoryd',
    version,
    use: 'a server process over HTTP with default settings; stores in batches if it has a batch route; computes its own vectors',
    batchSize: 1000,
    usesSharedVectors: false,
    async open({ folder, signal }): Promise<Peer> {
      const server = await startServer({ folder, environment: {}, connections: 1, signal, probe: assertHealthy });
      const { client } = server;
      return {
        async store(memories) {
          for (const batch of splitIntoBatches(memories.map(getRequest))) await storeBatch(client, batch);
          await waitForEmbeddings(client, signal);
        },
        async recall(query, k) {
          const { results } = await client.recall(query, k);
          return results.map(({ content }) => content);
        },
        close: server.stop,
      };
    },
  };
}

async function storeBatch(client: HttpClient, batch: StoreRequest[]): Promise<void> {
  if (await client.storeBatch(batch)) return;
  for (const request of batch) await client.store(request);
}

function getRequest({ content, session, timestamp }: PeerMemory): StoreRequest {
  return {
    content,
    ...(session !== null && { session_id: session }),
    ...(timestamp !== null && { created_at: timestamp }),
  };
}
