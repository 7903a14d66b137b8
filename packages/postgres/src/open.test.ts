import { openForTest, storageContract, WORKING_MAX } from '@memoryd/suites';
import { afterAll, beforeAll, describe } from 'vitest';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

const UNMET = {
  'purges a forgotten text before the response': 'the server purges a forgotten text when it vacuums',
  'creates a backup with the size and the checksum of its bytes': 'a server is backed up with its own tools',
};

describe('PostgreSQL storage', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  storageContract(async () => {
    const url = await server.create();
    return openForTest(
      () => openPostgres({ url, connections: TEST_CONNECTIONS, workingMax: WORKING_MAX }),
      () => server.drop(url),
    );
  }, UNMET);
});
