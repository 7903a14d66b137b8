import { MemoryClient } from '@memoryd/client';
import { testWhatHolds, WHAT_HOLDS_QUERY } from '../../server/conformance/what-holds-database.ts';
import { MemoryRetriever } from '../src/index.ts';

testWhatHolds(
  [
    {
      name: 'MemoryRetriever',
      byText: true,
      async read(memory, { user }) {
        const retriever = new MemoryRetriever({
          ...{ memory, userId: user, timeoutMs: 60_000 },
          ...{ tokens: 20_000, context: { recent: true } },
        });
        return (await retriever.invoke(WHAT_HOLDS_QUERY)).map(({ pageContent }) => pageContent);
      },
    },
  ],
  async (port) => ({ connection: new MemoryClient({ url: `http://127.0.0.1:${port}/` }) }),
);
