import { openEngine } from '@memoryd/engine';
import { type WhatHoldsReader, whatHoldsContract } from '@memoryd/suites';
import { TEST_CONNECTIONS } from '../../postgres/src/database.fixture.ts';
import { isAddress, newDatabase } from './databases.ts';
import { startServer } from './server.ts';
import { expectCleanEnd, WORDS_ONLY } from './under-test.ts';

export { WHAT_HOLDS_QUERY } from '@memoryd/suites';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0, telemetry: { report() {} } };

/**
 * Tests readers of a service on what holds; see `whatHoldsContract`. The cases are stored in process, because a service
 * has the clock of the system.
 *
 * @param connect connects the readers to the service at a port
 */
export function testWhatHolds<Connection>(
  readers: readonly WhatHoldsReader<Connection>[],
  connect: (port: number) => Promise<{ connection: Connection; close?(): Promise<void> }>,
): void {
  const database = newDatabase();
  whatHoldsContract({
    async open(settings) {
      const path = await database;
      const options = isAddress(path) ? { databaseUrl: path, databaseConnections: TEST_CONNECTIONS } : { dbPath: path };
      const engine = await openEngine(options, { ...QUIET, ...settings });
      return { ...engine.namespace('default'), close: () => engine.close() };
    },
    async connect() {
      const server = await startServer({ env: WORDS_ONLY, database: await database });
      const { connection, close } = await connect(server.port);
      return {
        connection,
        async close() {
          await close?.();
          await expectCleanEnd(server);
        },
      };
    },
    readers,
  });
}
