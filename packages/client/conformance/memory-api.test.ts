import { memoryApiContract } from '@memoryd/suites';
import { expect } from 'vitest';
import { startServer } from '../../server/conformance/server.ts';
import { expectCleanEnd, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { MemoryClient } from '../src/index.ts';

memoryApiContract(async () => {
  const server = await startServer({ env: WORDS_ONLY });
  const warnings: string[] = [];
  const memory = new MemoryClient({
    url: `http://127.0.0.1:${server.port}/`,
    onWarning: (text) => warnings.push(text),
  });
  return {
    memory,
    async close() {
      await expectCleanEnd(server);
      expect(warnings).toEqual([]);
    },
  };
});
