import { TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { changesContract } from '@memoryd/suites';
import { describe } from 'vitest';
import { openEngine } from './open-engine.ts';

describe('changes of many memories in a PostgreSQL database', () => {
  changesContract(async (clock) => {
    const server = await usePostgres();
    const url = await server.create();
    const options = { embedder: 'none', consolidationIntervalSeconds: 0, clock };
    const engine = await openEngine({ databaseUrl: url, databaseConnections: TEST_CONNECTIONS }, options);
    return {
      memory: engine.namespace('default'),
      async close() {
        await engine.close();
        await server.drop(url);
        await server.close();
      },
    };
  });
});
