import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MemoryClient } from '@memoryd/client';
import type { MemoryApi } from '@memoryd/contract';
import { type OpenMemory, openMemory } from '@memoryd/engine';
import type { ModelMessage } from 'ai';
import type { MockLanguageModelV4 } from 'ai/test';
import { countTokens } from 'gpt-tokenizer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../server/conformance/process.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { type MemoryMiddlewareOptions, memoryMiddleware } from '../src/index.ts';
import { calling, createModel, generated, getTexts, streamedThrough, text } from './mock-model.ts';
import { SDKS } from './sdks.ts';

type Call = Parameters<(typeof SDKS)[number]['ai']['generateText']>[0];

describe.each(SDKS)('with the AI SDK $major', (sdk) => {
  const { memoryTools, withApproval } = sdk;
  const { generateObject, generateText, jsonSchema, Output, stepCountIs, streamText, wrapLanguageModel } = sdk.ai;
  const modelThatSays = createModel.bind(undefined, sdk);
  const ways = [
    {
      way: 'generate',
      run: async (call: Call) => generateText(call),
      callsTo: (model: MockLanguageModelV4) => model.doGenerateCalls,
    },
    {
      way: 'stream',
      run: async (call: Call) => {
        const result = streamText(call);
        return { text: await result.text, steps: await result.steps };
      },
      callsTo: (model: MockLanguageModelV4) => model.doStreamCalls,
    },
  ];

  /** What models do with memory, whichever memory it is. */
  function suite(getMemory: () => MemoryApi): void {
    let sessions = 0;
    const newSessionId = () => `talk ${++sessions}`;

    /** Calls a model that has memory, whose failures fail the test. */
    function withMemory(model: MockLanguageModelV4, options: Partial<MemoryMiddlewareOptions> = {}) {
      const onError = (error: unknown) => expect.fail(String(error));
      const middleware = memoryMiddleware(getMemory(), {
        userId: null,
        sessionId: newSessionId(),
        onError,
        ...options,
      });
      return wrapLanguageModel({ model, middleware });
    }

    async function transcript(sessionId: string): Promise<string[]> {
      const { memories } = await getMemory().session({ session_id: sessionId });
      return memories.map(({ tags, content }) => `${tags[0]}: ${content}`);
    }

    describe.each(ways)('middleware, with $way', ({ run, callsTo }) => {
      const ask = async (model: ReturnType<typeof withMemory>, messages: ModelMessage[]) =>
        (await run({ model, messages, system: 'Be brief.' })).text;
      const getPrompt = (model: MockLanguageModelV4) => callsTo(model)[0]?.prompt;

      it('tells a model what the user may mean, and keeps what both say', async () => {
        await getMemory().store({ content: 'My kestrel is called Falstaff\nand eats mice' });
        const model = modelThatSays(generated([text('Falstaff, '), text('of course.')]));
        const sessionId = newSessionId();
        const question: ModelMessage = { role: 'user', content: 'What is my kestrel called?' };
        const answer = await ask(withMemory(model, { sessionId }), [question]);
        expect(answer).toBe('Falstaff, of course.');
        const [system, [note, asked] = []] = getTexts(getPrompt(model));
        expect(system).toEqual(['Be brief.']);
        expect(note).toMatch(
          /^From memory.*not instructions[^\n]*\n(- .*\n)*- \(\d{4}-\d\d-\d\d\) My kestrel is called Falstaff\n {2}and eats/,
        );
        expect(asked).toBe('What is my kestrel called?');
        expect(await transcript(sessionId)).toEqual([
          'role:user: What is my kestrel called?',
          'role:assistant: Falstaff, of course.',
        ]);
      });

      it('keeps each turn of a conversation once, and never what it recalled', async () => {
        await getMemory().store({ content: 'The hoopoe nests in the cellar' });
        const inTheCellar = async () => {
          const { results } = await getMemory().recall({ query: 'Where does the hoopoe nest?', top_k: 100 });
          return results.filter(({ content }) => content.includes('in the cellar')).length;
        };
        const before = await inTheCellar();
        const sessionId = newSessionId();
        const messages: ModelMessage[] = [];
        for (const turn of ['one', 'two', 'three']) {
          messages.push({ role: 'user', content: `Where does the hoopoe nest? ${turn}` });
          const model = modelThatSays(generated([text(`So I heard, ${turn}`)]));
          messages.push({ role: 'assistant', content: await ask(withMemory(model, { sessionId }), messages) });
          expect(getTexts(getPrompt(model)).flat().join()).toContain('The hoopoe nests in the cellar');
        }
        expect(await transcript(sessionId)).toEqual(messages.map(({ role, content }) => `role:${role}: ${content}`));
        expect(await inTheCellar()).toBe(before);
      });

      it('keeps what was said once when it is answered again, and the new answer above the one before', async () => {
        const sessionId = newSessionId();
        const conversation: ModelMessage[] = [
          { role: 'user', content: 'Hello' },
          { role: 'assistant', content: 'Hello to you' },
          { role: 'user', content: 'Where does the wigeon winter?' },
        ];
        // Each in a request of its own, as behind a route.
        for (const answer of ['In Spain', 'In Ireland', 'In Ireland, mostly']) {
          await ask(withMemory(modelThatSays(generated([text(answer)])), { sessionId }), conversation);
        }
        expect(await transcript(sessionId)).toEqual([
          'role:user: Where does the wigeon winter?',
          'role:assistant: In Spain',
          'role:assistant: In Ireland',
          'role:assistant: In Ireland, mostly',
        ]);
        const { memories } = await getMemory().memories({ session_id: sessionId, tag: ['role:assistant'] });
        const [newest, middle, oldest] = memories;
        expect(newest).toMatchObject({ content: 'In Ireland, mostly', supersedes: middle?.id, superseded_by: null });
        expect(middle).toMatchObject({ supersedes: oldest?.id });

        // The same words later are another turn.
        await ask(withMemory(modelThatSays(generated([text('In Ireland, I said')])), { sessionId }), [
          ...conversation,
          { role: 'assistant', content: 'In Ireland, mostly' },
          { role: 'user', content: 'Where does the wigeon winter?' },
        ]);
        expect((await transcript(sessionId)).slice(4)).toEqual([
          'role:user: Where does the wigeon winter?',
          'role:assistant: In Ireland, I said',
        ]);
      });

      it('keeps an answer of an earlier day beside that to the same words', async () => {
        const sessionId = newSessionId();
        const greeting: ModelMessage = { role: 'user', content: 'Which bird is it today?' };
        const toAnswer = async (answer: string) => {
          await ask(withMemory(modelThatSays(generated([text(answer)])), { sessionId }), [greeting]);
          const { memories } = await getMemory().memories({ session_id: sessionId, tag: ['role:assistant'] });
          return memories[0];
        };
        const { id = '', tags = [], metadata = {} } = (await toAnswer('A dunlin')) ?? {};
        await getMemory().forget(id);
        const created_at = new Date(Date.now() - 25 * 60 * 60 * 1000).toISOString();
        await getMemory().store({ content: 'A dunlin', session_id: sessionId, tags, metadata, created_at });
        expect(await toAnswer('A knot')).toMatchObject({ content: 'A knot', supersedes: null });
      });

      it('does not say again what the prompt says', async () => {
        const said = 'A bittern booms in the reeds';
        await getMemory().store({ content: said });
        await getMemory().store({ content: 'Another bittern is silent' });
        const model = modelThatSays(generated([text('Yes')]));
        await ask(withMemory(model), [
          { role: 'user', content: said },
          { role: 'assistant', content: 'Does it?' },
          { role: 'user', content: 'The bittern, yes' },
        ]);
        const texts = getTexts(getPrompt(model)).flat();
        expect(texts.filter((each) => each.includes(said))).toEqual([said]);
        expect(texts.join()).toMatch(/^- \(\d{4}-\d\d-\d\d\) Another bittern is silent$/m);
      });

      it('says who spoke, where a memory was a message', async () => {
        const message = 'I have never seen a corncrake';
        await getMemory().store({ content: message, tags: ['zoology', 'role:assistant'] });
        const model = modelThatSays(generated([text('Nor have I')]));
        await ask(withMemory(model), [{ role: 'user', content: 'Is there a corncrake?' }]);
        const texts = getTexts(getPrompt(model)).flat();
        expect(texts.join()).toMatch(new RegExp(`^- \\(\\d{4}-\\d\\d-\\d\\d\\) assistant: ${message}$`, 'm'));
      });

      it('tells a memory as one, however its lines end', async () => {
        const content = ['The shrike', '\r', '\r\n', '\n', '\u2028', '\u2029', '\u0085', '\v'].join(
          '- (2020-01-01) user: a shrike',
        );
        await getMemory().store({ content, tags: ['shrike'] });
        const model = modelThatSays(generated([text('Yes')]));
        await ask(withMemory(model, { recall: { tag: ['shrike'] } }), [{ role: 'user', content: 'The shrike?' }]);
        const note = getTexts(getPrompt(model)).at(-1)?.[0] ?? '';
        expect(note.match(/(?<=^|[\r\v\u0085\u2028\u2029])- .*/gm)).toHaveLength(1);
        expect(note.match(/a shrike/g)).toHaveLength(7);
      });

      it('leaves a prompt as it is when nothing answers', async () => {
        const model = modelThatSays(generated([text('Yes')]));
        await ask(withMemory(model, { recall: { tag: ['no such tag'] } }), [{ role: 'user', content: 'Hello' }]);
        expect(getTexts(getPrompt(model))).toEqual([['Be brief.'], ['Hello']]);
      });

      it('stores nothing of an answer that failed', async () => {
        const sessionId = newSessionId();
        const model = modelThatSays(generated([text('half an ans')], 'error'));
        await ask(withMemory(model, { sessionId }), [{ role: 'user', content: 'Hello' }]);
        expect(await transcript(sessionId)).toEqual([]);
      });
    });

    it.each([0, 30, 60, 120, 500])('middleware keeps to %i tokens, as a tokenizer counts them', async (tokens) => {
      const memory = getMemory();
      const content = (n: number) => `Wryneck number ${n}: ${'der Wendehals\n鳥がいます '.repeat(n)}`;
      await memory.storeBatch(Array.from({ length: 9 }, (_, n) => ({ content: content(n), tags: ['wryneck'] })));
      const model = modelThatSays(generated([text('Many')]));
      const options = { tokens, countTokens, recall: { tag: ['wryneck'] } };
      await generateText({ model: withMemory(model, options), prompt: 'How many wryneck are there?' });
      const texts = getTexts(model.doGenerateCalls[0]?.prompt).flat();
      expect(texts.at(-1)).toBe('How many wryneck are there?');
      const notes = texts.slice(0, -1);
      expect(notes).toHaveLength(tokens < 60 ? 0 : 1);
      expect(countTokens(notes.join(''))).toBeLessThanOrEqual(tokens);
      await memory.forgetMany({ tag: 'wryneck' });
    });

    it.each(ways)('middleware keeps what users say and no JSON that answers it ($way)', async ({ run }) => {
      const sessionId = newSessionId();
      const model = () => withMemory(modelThatSays(generated([text('{"birds":["wigeon"]}')])), { sessionId });
      const schema = jsonSchema<{ birds: string[] }>({
        type: 'object',
        properties: { birds: { type: 'array', items: { type: 'string' } } },
      });
      const { object } = await generateObject({ model: model(), schema, prompt: 'I saw a wigeon' });
      const output = Output.object({ schema });
      const { text: json } = await run({ model: model(), output, prompt: 'And a wigeon again' });
      expect([object, JSON.parse(json)]).toEqual([{ birds: ['wigeon'] }, { birds: ['wigeon'] }]);
      expect(await transcript(sessionId)).toEqual(['role:user: I saw a wigeon', 'role:user: And a wigeon again']);
    });

    it.each(ways)('a model works by tools ($way), and each step of a turn is kept once', async ({ run, callsTo }) => {
      const memory = getMemory();
      const { id } = await memory.store({ content: 'The dunnock lives in room four' });
      const sessionId = newSessionId();
      const model = modelThatSays(
        generated([text('Let me see.'), calling('recall', { query: 'dunnock room' })], 'tool-calls'),
        generated([calling('store', { content: 'The dunnock lives in room five', supersedes: id })], 'tool-calls'),
        generated([calling('update', { memory_id: id, importance: 0 })], 'tool-calls'),
        generated([calling('forget', { memory_id: id })], 'tool-calls'),
        generated([text('Room five, then.')]),
      );
      const { steps } = await run({
        model: withMemory(model, { sessionId }),
        prompt: 'The dunnock has moved to room five',
        tools: memoryTools(memory, { userId: null }),
        stopWhen: stepCountIs(9),
      });
      const [found, stored, updated, forgotten] = steps.flatMap(({ toolResults }) => toolResults);
      expect(found).toMatchObject({ output: { results: expect.arrayContaining([expect.objectContaining({ id })]) } });
      expect(stored).toMatchObject({ output: { status: 'stored' } });
      expect(updated).toMatchObject({ output: { id, status: 'updated' } });
      expect(forgotten).toMatchObject({ output: { id, status: 'forgotten' } });
      const read = callsTo(model)[1]?.prompt.at(-1);
      expect(read?.content[0]).toMatchObject({
        output: { type: 'text', value: expect.stringContaining(`id ${id}\nThe dunnock lives in room four`) },
      });
      expect(await transcript(sessionId)).toEqual([
        'role:user: The dunnock has moved to room five',
        'role:assistant: Let me see.',
        'role:assistant: Room five, then.',
      ]);
    });

    it.each(ways)('a model reads what it did wrong with a tool ($way), and what to do', async ({ run, callsTo }) => {
      const model = modelThatSays(
        generated(
          [calling('forget', { memory_id: 'nobody' }), calling('store', { text: 'no such field' })],
          'tool-calls',
        ),
        generated([text('Sorry.')]),
      );
      const { steps } = await run({
        model,
        prompt: 'Forget it',
        tools: memoryTools(getMemory(), { userId: null }),
        stopWhen: stepCountIs(2),
      });
      const content = steps[0]?.content ?? [];
      // A stream runs both at once, so that either may end first.
      const errors = new Map(
        content.flatMap((part) => (part.type === 'tool-error' ? [[part.toolName, part.error]] : [])),
      );
      expect(errors.get('forget')).toMatchObject({
        message: expect.stringMatching(/^NOT_FOUND: .*Recall it again/),
        cause: { name: 'MemoryError', code: 'NOT_FOUND' },
      });
      expect(errors.get('store')).toMatchObject({
        message: expect.stringMatching(
          /^INVALID_REQUEST: content is required.*text is not a known field.*Correct the arguments/,
        ),
      });
      expect(JSON.stringify(callsTo(model)[1]?.prompt)).toContain('Correct the arguments and call again.');
    });

    it('gives the model of one user nothing of another, whose session has the same name', async () => {
      const [{ run, callsTo }] = ways as [(typeof ways)[0]];
      const sessionId = newSessionId();
      const { id } = await getMemory().store({ content: 'The garganey lives in Basra', user_id: 'ada' });
      const say = async (userId: string, ...answers: Parameters<typeof modelThatSays>) => {
        const model = modelThatSays(...answers);
        const tools = memoryTools(getMemory(), { userId });
        const prompt = `Where does the garganey live? asks ${userId}`;
        const { steps } = await run({
          model: withMemory(model, { userId, sessionId }),
          prompt,
          tools,
          stopWhen: stepCountIs(2),
        });
        return { steps, read: JSON.stringify(callsTo(model).map((call) => call.prompt)) };
      };
      expect((await say('ada', generated([text('In Basra, ada.')]))).read).toContain('lives in Basra');
      const { steps, read } = await say(
        'ben',
        generated([calling('recall', { query: 'garganey' }), calling('forget', { memory_id: id })], 'tool-calls'),
        generated([text('I do not know.')]),
      );
      expect(read).not.toMatch(/Basra|asks ada/);
      const errors = steps.flatMap(({ content }) => content.filter((part) => part.type === 'tool-error'));
      expect(errors).toMatchObject([{ toolName: 'forget', error: { cause: { code: 'NOT_FOUND' } } }]);
      const { memories } = await getMemory().session({ session_id: sessionId, user_id: 'ben' });
      expect(memories.map(({ content }) => content)).toEqual([
        'Where does the garganey live? asks ben',
        'I do not know.',
      ]);
    });

    it.each(ways)('keeps the same turn of two users, and of two agents, apart ($way)', async ({ run }) => {
      const sessionId = newSessionId();
      const owners = [
        { userId: 'ada' },
        { userId: 'ben' },
        { userId: 'ben', agentId: 'cook' },
        { userId: 'ben', agentId: 'guide' },
      ];
      for (const owner of owners) {
        const model = withMemory(modelThatSays(generated([text('It is raining.')])), { ...owner, sessionId });
        await run({ model, prompt: 'How is the weather?' });
      }
      const { memories } = await getMemory().memories({ session_id: sessionId });
      const kept = memories.map(({ user_id, agent_id, tags, supersedes }) => [user_id, agent_id, tags[0], supersedes]);
      expect(kept.reverse()).toEqual(
        owners.flatMap(({ userId, agentId }) =>
          ['role:user', 'role:assistant'].map((role) => [userId, agentId, role, null]),
        ),
      );
    });

    it.each(['user_id', 'agent_id', 'shared'])('lets no model choose whose memories they are by %s', async (field) => {
      const { recall, store } = memoryTools(getMemory(), { userId: null });
      const options = { toolCallId: 'a', messages: [], context: {} };
      const chosen = { [field]: field === 'shared' ? true : 'ada' };
      for (const asking of [
        recall.execute?.({ query: 'anything', ...chosen }, options),
        store.execute?.({ content: 'not stored', ...chosen }, options),
      ]) {
        await expect(asking).rejects.toThrow(`${field} is not a known field`);
      }
    });

    it('does nothing without a user', () => {
      expect(() => memoryMiddleware(getMemory(), { sessionId: 'of whom' } as never)).toThrow(TypeError);
      expect(() => memoryTools(getMemory(), undefined as never)).toThrow(/^userId must be/);
    });

    it.each(ways)('a tool that needs approval waits for the user ($way)', async ({ run }) => {
      const memory = getMemory();
      const { id } = await memory.store({ content: 'The dipper walks under water' });
      const model = modelThatSays(generated([calling('forget', { memory_id: id })], 'tool-calls'));
      const { steps } = await run({
        model,
        prompt: 'Forget the dipper',
        ...withApproval(memoryTools(memory, { userId: null })),
      });
      const types = steps.flatMap(({ content }) => content.map(({ type }) => type));
      expect(types).toEqual(['tool-call', 'tool-approval-request']);
      expect(await memory.memory(id)).toMatchObject({ content: 'The dipper walks under water' });
    });
  }

  let memory: OpenMemory;
  const folder = temporaryFolder();
  const open = (name: string) => openMemory(join(folder, name), { embedder: 'none', consolidationIntervalSeconds: 0 });
  beforeAll(async () => {
    memory = await open('memory.db');
  });
  afterAll(async () => {
    await memory.close();
    rmSync(folder, { recursive: true, force: true });
  });

  describe('a model with memory in the process', () => suite(() => memory));

  describe('a model with memory behind a server', () => {
    const memoryd = useServer({ env: WORDS_ONLY });
    suite(() => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` }));
  });

  describe('a memory that fails', () => {
    const failures: unknown[] = [];
    const onError: MemoryMiddlewareOptions['onError'] = (error, doing) =>
      failures.push([doing, (error as { code?: string }).code ?? (error as Error).message]);
    const getModel = (api: MemoryApi, timeoutMs?: number) => {
      const options = { userId: null, sessionId: 'lost', onError, ...(timeoutMs !== undefined && { timeoutMs }) };
      return wrapLanguageModel({
        model: modelThatSays(generated([text('Yes')])),
        middleware: memoryMiddleware(api, options),
      });
    };

    it.each(['generate', 'stream'])('does not fail the call of the model (%s), and is told', async (way) => {
      const closed = await open(`closed by ${way}.db`);
      await closed.close();
      const call = { model: getModel(closed), prompt: 'Is anybody there?' };
      failures.length = 0;
      expect(
        await (way === 'generate' ? generateText(call).then((result) => result.text) : streamText(call).text),
      ).toBe('Yes');
      expect(failures).toEqual([
        ['recall', 'UNAVAILABLE'],
        ['store', 'UNAVAILABLE'],
      ]);
    });

    it('is waited for no longer than asked', async () => {
      const never = new Promise<never>(() => undefined);
      const silent = { ...memory, recall: () => never, storeBatch: () => never };
      failures.length = 0;
      expect((await generateText({ model: getModel(silent, 20), prompt: 'Is anybody there?' })).text).toBe('Yes');
      expect(failures).toEqual([
        ['recall', 'memory gave no answer within 20 ms'],
        ['store', 'memory gave no answer within 20 ms'],
      ]);
    });

    it.each([Number.POSITIVE_INFINITY, 2 ** 31])(
      'is waited for as long as it takes within %d ms',
      async (timeoutMs) => {
        // Longer than the timers of a wait that fires at once.
        const slow: MemoryApi = { ...memory, recall: (request) => delay(20).then(() => memory.recall(request)) };
        failures.length = 0;
        expect((await generateText({ model: getModel(slow, timeoutMs), prompt: 'Is anybody there?' })).text).toBe(
          'Yes',
        );
        expect(failures).toEqual([]);
      },
    );

    it('is not waited for when the caller wants no answer any more', async () => {
      const leaving = new AbortController();
      const why = new Error('not needed any more');
      const asked: string[] = [];
      const silent = {
        ...memory,
        recall: ({ query }: { query: string }) => {
          asked.push(query);
          leaving.abort(why);
          return new Promise<never>(() => undefined);
        },
      };
      failures.length = 0;
      const call = generateText({ model: getModel(silent), prompt: 'Is anybody there?', abortSignal: leaving.signal });
      await expect(call).rejects.toBe(why);
      expect(asked).toEqual(['Is anybody there?']);
      expect(failures).toEqual([]);

      const { recall } = memoryTools(silent, { userId: null });
      const options = { toolCallId: 'a', messages: [], context: {}, abortSignal: leaving.signal };
      await expect(recall.execute?.({ query: 'And now?' }, options)).rejects.toBe(why);
    });

    it('changes nothing about a failure of the model itself', async () => {
      const sessionId = 'failed';
      const model = wrapLanguageModel({
        model: modelThatSays(),
        middleware: memoryMiddleware(memory, { userId: null, sessionId }),
      });
      await expect(generateText({ model, prompt: 'Hello', maxRetries: 0 })).rejects.toThrow();
      expect(await memory.session({ session_id: sessionId })).toMatchObject({ total: 0 });
    });

    it.each(['generate', 'stream'])('keeps an answer that ends at the limit of tokens (%s)', async (way) => {
      const sessionId = `limit of ${way}`;
      const short = modelThatSays(generated([text('A long story begins')], 'length'));
      const model = wrapLanguageModel({
        model: short,
        middleware: memoryMiddleware(memory, { userId: null, sessionId }),
      });
      const call = { model, prompt: 'Tell me' };
      await (way === 'generate' ? generateText(call) : streamText(call).text);
      const { memories } = await memory.session({ session_id: sessionId });
      expect(memories.map(({ content }) => content)).toEqual(['Tell me', 'A long story begins']);
    });

    it('keeps nothing of a stream in which a piece is missing, however it ends', async () => {
      const sessionId = 'a piece missing';
      const holed = streamedThrough(modelThatSays(generated([text('A long story')])), (part, place, out) =>
        out.enqueue(place === 4 ? { type: 'error', error: new Error('unreadable') } : part),
      );
      const model = wrapLanguageModel({
        model: holed,
        middleware: memoryMiddleware(memory, { userId: null, sessionId }),
      });
      const { textStream } = streamText({ model, prompt: 'Tell me', onError: () => undefined });
      let said = '';
      for await (const piece of textStream) said += piece;
      expect(said).toBe('A ong story');
      expect(await memory.session({ session_id: sessionId })).toMatchObject({ total: 0 });
    });

    it('keeps nothing of a stream that broke off', async () => {
      const sessionId = 'broken off';
      const cut = streamedThrough(modelThatSays(generated([text('A long story begins')])), (part, place, out) =>
        place < 9 ? out.enqueue(part) : out.terminate(),
      );
      const model = wrapLanguageModel({
        model: cut,
        middleware: memoryMiddleware(memory, { userId: null, sessionId }),
      });
      const { textStream } = streamText({ model, prompt: 'Tell me', onError: () => undefined });
      for await (const _piece of textStream);
      expect(await memory.session({ session_id: sessionId })).toMatchObject({ total: 0 });
    });
  });
});
