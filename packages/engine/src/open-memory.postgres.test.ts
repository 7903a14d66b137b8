import { ENGINE_DEFAULTS, openEngine } from '@memoryd/engine';
import { TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { memoryApiContract } from '@memoryd/suites';
import { describe } from 'vitest';

describe('in-process memory in a PostgreSQL database', () => {
  memoryApiContract(async () => {
    const server = await usePostgres();
    const url = await server.create();
    const engine = await openEngine({
      ...ENGINE_DEFAULTS,
      embedder: 'none',
      consolidationIntervalSeconds: 0,
      telemetry: { report: () => {} },
      databaseUrl: url,
      databaseConnections: TEST_CONNECTIONS,
    });
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
