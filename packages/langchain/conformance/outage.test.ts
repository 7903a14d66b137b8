import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { ChatPromptTemplate, MessagesPlaceholder } from '@langchain/core/prompts';
import { RunnableWithMessageHistory } from '@langchain/core/runnables';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { MemoryClient } from '@memoryd/client';
import { flushStores } from '@memoryd/client/session';
import { describe, expect, it } from 'vitest';
import { type GatewayState, startGateway } from '../../client/conformance/gateway.fixture.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { MemoryChatHistory, type MemoryChatHistoryFields, MemoryRetriever, memoryTools } from '../src/index.ts';

/** A short timeout, because the tests wait for it. */
const HASTY = { timeoutMs: 500 };
const PATIENT = { timeoutMs: 60_000 };
const OUTAGES: GatewayState[] = ['down', 'hanging'];

describe('a chain of LangChain', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let sessions = 0;
  const direct = () => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });

  async function open(state: GatewayState) {
    const gateway = await startGateway(memoryd.server.port, state);
    const memory = new MemoryClient({ url: gateway.url, onWarning: () => {} });
    const failures: string[] = [];
    const onError = (_error: unknown, operation: string) => void failures.push(operation);
    const sessionId = `chain ${++sessions}`;
    const createHistory = (fields: Partial<MemoryChatHistoryFields> = {}) =>
      new MemoryChatHistory({ memory, userId: null, sessionId, onError, ...PATIENT, ...fields });
    return { gateway, memory, failures, onError, sessionId, createHistory };
  }

  const getTexts = async (history: MemoryChatHistory) => (await history.getMessages()).map(({ text }) => text);

  it.each(OUTAGES)('gets no documents while the service is %s, after one attempt and one warning', async (state) => {
    const { gateway, memory, failures, onError } = await open(state);
    const retriever = new MemoryRetriever({ memory, userId: null, onError, ...HASTY });
    for (const query of ['one', 'two', 'three']) expect(await retriever.invoke(query)).toEqual([]);
    expect(failures).toEqual(['recall']);
    if (state === 'hanging') expect(gateway.requests).toEqual(['POST /context']);
  });

  it('counts a repeated query as one use, and gets new documents', async () => {
    const { memory } = await open('up');
    const { id } = await direct().store({ content: 'The garganey dabbles' });
    const retriever = new MemoryRetriever({ memory, userId: null, ...PATIENT });
    for (let step = 0; step < 5; step++) expect(await retriever.invoke('Does the garganey dabble?')).toHaveLength(1);
    await direct().store({ content: 'A garganey dabbled here' });
    expect(await retriever.invoke('Does the garganey dabble?')).toHaveLength(2);
    await expect.poll(async () => (await direct().memory(id)).access_count).toBe(1);
    await retriever.invoke('And where does the garganey dabble?');
    await expect.poll(async () => (await direct().memory(id)).access_count).toBe(2);
  });

  it.each(OUTAGES)('continues while the service is %s, with the messages of this process', async (state) => {
    const { gateway, memory, failures, sessionId, createHistory } = await open(state);
    const chain = new RunnableWithMessageHistory({
      runnable: ChatPromptTemplate.fromMessages([new MessagesPlaceholder('before'), ['human', '{question}']]).pipe(
        new FakeListChatModel({ responses: ['Falstaff', 'You told me'] }),
      ),
      // A new history for each turn, as in a web server.
      getMessageHistory: () => createHistory(HASTY),
      inputMessagesKey: 'question',
      historyMessagesKey: 'before',
    });
    const config = { configurable: { sessionId } };
    for (const question of ['Who am I?', 'How do you know?']) await chain.invoke({ question }, config);
    const said = ['Who am I?', 'Falstaff', 'How do you know?', 'You told me'];
    expect(await getTexts(createHistory(HASTY))).toEqual(said);
    await gateway.set('down');
    await expect.poll(() => [...failures].sort()).toEqual(['read', 'store']);
    await gateway.set('up');
    await flushStores(memory, PATIENT);
    const { memories } = await direct().session({ session_id: sessionId });
    expect(memories.map(({ content }) => content)).toEqual(said);
  });

  it('adds messages without waiting for the service, and reads them once, unchanged', async () => {
    const { gateway, createHistory } = await open('up');
    gateway.hold('POST /store/batch');
    const history = createHistory();
    const tool_calls = [{ type: 'tool_call' as const, id: 'c1', name: 'look', args: { at: 'y' } }];
    await history.addMessages([
      new HumanMessage({ content: 'Look', name: 'Ada' }),
      new AIMessage({ content: '', tool_calls }),
    ]);
    expect(await history.getMessages()).toMatchObject([{ text: 'Look', name: 'Ada' }, { tool_calls }]);
    gateway.hold('');
    await gateway.set('down');
    await gateway.set('up');
    await history.flush(PATIENT);
    expect(await createHistory().getMessages()).toMatchObject([{ text: 'Look', name: 'Ada' }, { tool_calls }]);
  });

  it('forgets messages that wait to be stored when the history is cleared', async () => {
    const { gateway, failures, sessionId, createHistory } = await open('down');
    const history = createHistory();
    await history.addUserMessage('forget me');
    await expect.poll(() => failures).toEqual(['store']);
    await gateway.set('up');
    await history.clear();
    await history.addUserMessage('keep me');
    await history.flush(PATIENT);
    const { memories } = await direct().session({ session_id: sessionId });
    expect(memories.map(({ content }) => content)).toEqual(['keep me']);
  });

  it('gets an error from a tool while the service is hanging, at once after the first error', async () => {
    const { gateway, memory } = await open('hanging');
    const recall = memoryTools(memory, { ...HASTY, userId: null }).find(({ name }) => name === 'memory_recall');
    const call = () =>
      recall?.invoke({ type: 'tool_call', id: 'c', name: 'memory_recall', args: { query: 'anything' } });
    await expect(call()).rejects.toThrow(/^UNAVAILABLE: the memory service did not respond within 500 ms/);
    await expect(call()).rejects.toThrow(/^UNAVAILABLE: the memory service was not called/);
    expect(gateway.requests).toEqual(['GET /recall']);
  });
});
