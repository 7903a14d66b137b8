import { MemoryClient } from '@memoryd/client';
import { flushStores } from '@memoryd/client/session';
import { testWhatHolds, WHAT_HOLDS_QUERY } from '../../server/conformance/what-holds-database.ts';
import { memoryMiddleware } from '../src/index.ts';
import { createModel, createResult, getTexts, text } from './mock-model.ts';
import { SDKS } from './sdks.ts';

const sdk = SDKS[1] as (typeof SDKS)[number];
const { generateText, wrapLanguageModel } = sdk.ai;

testWhatHolds(
  [
    {
      name: 'memoryMiddleware',
      byText: true,
      async read(memory, { user }) {
        const model = createModel(sdk, createResult([text('Yes.')]));
        const options = {
          userId: user,
          sessionId: 'talk',
          tokens: 20_000,
          timeoutMs: 60_000,
          context: { recent: true },
        };
        const middleware = memoryMiddleware(memory, options);
        await generateText({ model: wrapLanguageModel({ model, middleware }), prompt: WHAT_HOLDS_QUERY });
        await flushStores(memory, { timeoutMs: 60_000 });
        return getTexts(model.doGenerateCalls[0]?.prompt).flat();
      },
    },
  ],
  async (port) => ({ connection: new MemoryClient({ url: `http://127.0.0.1:${port}/` }) }),
);
