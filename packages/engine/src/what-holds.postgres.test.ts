import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { MEMORY_API_READERS, whatHoldsContract } from '@memoryd/suites';
import { afterAll, beforeAll, describe } from 'vitest';
import { openEngine } from './open-engine.ts';
import { openMemory } from './open-memory.ts';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0 };

describe('memory in a PostgreSQL database', () => {
  let server: DatabaseServer;
  let url: string;
  beforeAll(async () => {
    server = await usePostgres();
    url = await server.create();
  });
  afterAll(async () => {
    await server.drop(url);
    await server.close();
  });
  whatHoldsContract({
    open: async (settings) => {
      const engine = await openEngine(
        { databaseUrl: url, databaseConnections: TEST_CONNECTIONS },
        { ...QUIET, ...settings },
      );
      return { ...engine.namespace('default'), close: () => engine.close() };
    },
    async connect() {
      const memory = await openMemory(url, QUIET);
      return { connection: { memory }, close: () => memory.close() };
    },
    readers: MEMORY_API_READERS,
    runs: 2,
  });
});
