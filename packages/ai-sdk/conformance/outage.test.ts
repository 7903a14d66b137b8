import { MemoryClient } from '@memoryd/client';
import { flushStores } from '@memoryd/client/session';
import type { ModelMessage } from 'ai';
import { describe, expect, it } from 'vitest';
import { type GatewayState, startGateway } from '../../client/conformance/gateway.fixture.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { type MemoryMiddlewareOptions, memoryMiddleware } from '../src/index.ts';
import { createModel, createResult, createToolCall, getTexts, text } from './mock-model.ts';
import { SDKS } from './sdks.ts';

const RECALL = 'POST /context';
const STORE = 'POST /store/batch';
/** A short timeout, because the tests wait for it. */
const HASTY = { timeoutMs: 500 };
const PATIENT = { timeoutMs: 60_000 };
const WAYS = ['generate', 'stream'] as const;
const OUTAGES: GatewayState[] = ['down', 'hanging'];

describe.each(SDKS)('a turn with the AI SDK $major', (sdk) => {
  const { generateText, jsonSchema, stepCountIs, streamText, wrapLanguageModel } = sdk.ai;
  const memoryd = useServer({ env: WORDS_ONLY });
  let sessions = 0;
  const look = { inputSchema: jsonSchema<object>({ type: 'object' }), execute: async () => 'a view' };
  const direct = () => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });

  /** Creates a model that calls the tool `look` in each step but the last. */
  function createLoop(steps: number) {
    const calls = new Array(steps - 1).fill(createResult([createToolCall('look', {})], 'tool-calls'));
    return createModel(sdk, ...calls, createResult([text('Done')]));
  }

  async function open(state: GatewayState, options: Partial<MemoryMiddlewareOptions> = {}) {
    const gateway = await startGateway(memoryd.server.port, state);
    const memory = new MemoryClient({ url: gateway.url, onWarning: () => {} });
    const failures: string[] = [];
    const sessionId = `turn ${++sessions} of ${sdk.major}`;
    const createMiddleware = (more: Partial<MemoryMiddlewareOptions> = {}) =>
      memoryMiddleware(memory, {
        ...PATIENT,
        ...{ userId: null, sessionId, onError: (_error: unknown, operation: string) => failures.push(operation) },
        ...options,
        ...more,
      });
    return { gateway, memory, failures, sessionId, createMiddleware };
  }

  /** Runs a turn, and returns the text of the answer. */
  async function run(
    way: (typeof WAYS)[number],
    model: ReturnType<typeof createModel>,
    middleware: ReturnType<typeof memoryMiddleware>,
    messages: ModelMessage[],
  ): Promise<string> {
    const call = {
      model: wrapLanguageModel({ model, middleware }),
      messages,
      tools: { look },
      stopWhen: stepCountIs(9),
    };
    return way === 'generate' ? (await generateText(call)).text : streamText(call).text;
  }

  const ask = (content: string): ModelMessage[] => [{ role: 'user', content }];

  it.each(WAYS)('a turn of five steps recalls once, with the same memories in each step (%s)', async (way) => {
    const { id } = await direct().store({ content: `The whinchat perches on gorse ${way}`, tags: [way] });
    const { gateway, createMiddleware } = await open('up', { recall: { tag: [way] } });
    const model = createLoop(5);
    const middleware = createMiddleware();
    expect(await run(way, model, middleware, ask('Where does the whinchat perch?'))).toBe('Done');
    const prompts = (way === 'generate' ? model.doGenerateCalls : model.doStreamCalls).map(({ prompt }) => prompt);
    expect(prompts).toHaveLength(5);
    for (const prompt of prompts) expect(getTexts(prompt).flat().join()).toContain('The whinchat perches on gorse');
    expect(gateway.count(RECALL)).toBe(1);
    await middleware.flush(PATIENT);
    await expect.poll(async () => (await direct().memory(id)).access_count).toBe(1);
  });

  it.each(WAYS.flatMap((way) => OUTAGES.map((state) => [way, state] as const)))(
    'a turn of five steps makes one recall, warns once, and stores later (%s, %s)',
    async (way, state) => {
      const { gateway, failures, sessionId, createMiddleware } = await open(state, HASTY);
      const middleware = createMiddleware();
      expect(await run(way, createLoop(5), middleware, ask('Is anybody there?'))).toBe('Done');
      if (state === 'hanging') expect(gateway.count(RECALL)).toBe(1);
      await gateway.set('down');
      await expect.poll(() => [...failures].sort()).toEqual(['recall', 'store']);
      await gateway.set('up');
      await middleware.flush(PATIENT);
      const { memories } = await direct().session({ session_id: sessionId });
      expect(memories.map(({ content }) => content)).toEqual(['Is anybody there?', 'Done']);
      expect(failures).toHaveLength(2);
    },
  );

  it.each(WAYS)('ends before its messages are stored (%s)', async (way) => {
    const { gateway, memory, createMiddleware } = await open('up');
    gateway.hold(STORE);
    const middleware = createMiddleware();
    expect(await run(way, createLoop(1), middleware, ask('Are you slow?'))).toBe('Done');
    await expect.poll(() => gateway.count(STORE)).toBe(1);
    await expect(middleware.flush({ timeoutMs: 1 })).rejects.toThrow(/^2 memories were not stored within 1 ms/);
    gateway.hold('');
    await gateway.set('down');
    await gateway.set('up');
    await flushStores(memory, PATIENT);
  });

  it('recalls once for calls at the same time, a retry after an error of the model, and a new middleware', async () => {
    const { gateway, memory, createMiddleware } = await open('up');
    const messages = ask('How many?');
    const loops = [createLoop(2), createLoop(2)];
    await Promise.all(loops.map((model) => run('generate', model, createMiddleware(), messages)));
    expect(gateway.count(RECALL)).toBe(1);

    const failing = createLoop(1);
    const { doGenerate } = failing;
    let attempts = 0;
    failing.doGenerate = async (options) => {
      if (attempts++ === 0) throw Object.assign(new Error('overloaded'), { name: 'Overloaded' });
      return doGenerate.call(failing, options);
    };
    const retried = ask('And now?');
    await expect(run('generate', failing, createMiddleware(), retried)).rejects.toThrow('overloaded');
    await run('generate', failing, createMiddleware(), retried);
    expect(gateway.count(RECALL)).toBe(2);
    await flushStores(memory, PATIENT);
  });

  it('recalls again for a later message with the same text, and for a repeated turn', async () => {
    const { gateway, memory, createMiddleware } = await open('up');
    const messages = ask('Go on');
    for (const expected of [1, 2]) {
      await run('generate', createLoop(1), createMiddleware(), messages);
      expect(gateway.count(RECALL)).toBe(expected);
    }
    const later: ModelMessage[] = [...messages, { role: 'assistant', content: 'Done' }, ...messages];
    await run('generate', createLoop(3), createMiddleware(), later);
    expect(gateway.count(RECALL)).toBe(3);
    await flushStores(memory, PATIENT);
  });

  it('shares no recall with another user, agent or session', async () => {
    const { gateway, memory, createMiddleware } = await open('up');
    await direct().store({ content: 'The secret of Ada is a wheatear', user_id: 'ada' });
    const messages = ask('What is the secret of Ada, a wheatear?');
    const scopes = [
      { userId: 'ada' },
      { userId: 'ben' },
      { userId: 'ada', agentId: 'cook' },
      { userId: 'ada', sessionId: 'another' },
    ];
    // All turns are in progress at the same time.
    const prompts = await Promise.all(
      scopes.map(async (scope) => {
        const model = createLoop(2);
        await run('generate', model, createMiddleware(scope), messages);
        return JSON.stringify(model.doGenerateCalls.map(({ prompt }) => prompt));
      }),
    );
    expect(gateway.count(RECALL)).toBe(4);
    expect(prompts.map((prompt) => prompt.includes('Ada is a wheatear'))).toEqual([true, false, false, true]);
    await flushStores(memory, PATIENT);
  });

  it.each(OUTAGES)(
    'gets an error from a tool while the service is %s, at once after the first error',
    async (state) => {
      const { gateway, memory } = await open(state);
      const tools = sdk.memoryTools(memory, { ...HASTY, userId: null });
      const options = { toolCallId: 'a', messages: [], context: {} };
      const recall = () => tools.memory_recall.execute?.({ query: 'anything' }, options);
      await expect(recall()).rejects.toThrow(/^UNAVAILABLE: .* otherwise wait a few seconds and call again\.$/s);
      await expect(recall()).rejects.toThrow(/^UNAVAILABLE: the memory service was not called, because it failed less/);
      await expect(tools.memory_session.execute?.({ session_id: 'any' }, options)).rejects.toThrow(
        /^UNAVAILABLE: the memory service was not called/,
      );
      if (state === 'hanging') expect(gateway.count('GET /recall')).toBe(1);
      if (state === 'down')
        await expect(tools.memory_store.execute?.({ content: 'x' }, options)).rejects.toThrow(/^UNAVAILABLE/);
      await gateway.set('up');
      await expect(recall()).rejects.toThrow(/^UNAVAILABLE: the memory service was not called/);
      expect(gateway.count('POST /store')).toBe(0);
    },
  );

  it('gets the results of tools after an error that its arguments cause', async () => {
    const { memory } = await open('up');
    const tools = sdk.memoryTools(memory, { ...PATIENT, userId: null });
    const options = { toolCallId: 'a', messages: [], context: {} };
    await expect(tools.memory_forget.execute?.({ memory_id: 'nobody' }, options)).rejects.toThrow(/^NOT_FOUND/);
    expect(await tools.memory_store.execute?.({ content: 'The twite is here' }, options)).toMatchObject({
      status: 'stored',
    });
  });
});
