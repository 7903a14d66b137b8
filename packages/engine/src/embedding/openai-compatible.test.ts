import { inspect } from 'node:util';
import { type Embedder, EmbedderUnavailable } from '@memoryd/core/models';
import { embedderContract, embedVectors } from '@memoryd/suites';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddingServer, type Fault, startEmbeddingServer } from './embedding-server.fixture.ts';
import { type EmbeddingModel, openOpenAiCompatible } from './openai-compatible.ts';

const KEY = 'sk-secret/of+the=house';
const SENTENCE = 'The gardener planted seventeen rose bushes along the southern wall of the monastery. ';

let server: EmbeddingServer;
let opened: Embedder[];

beforeEach(async () => {
  opened = [];
  server = await startEmbeddingServer();
});
afterEach(async () => {
  for (const embedder of opened) await embedder.close();
  await server.close();
});

async function open(model: Partial<EmbeddingModel> = {}): Promise<Embedder> {
  const signal = new AbortController().signal;
  const embedder = await openOpenAiCompatible({ url: server.url, model: server.model, ...model }, signal);
  opened.push(embedder);
  server.requests.length = 0;
  return embedder;
}

async function getFailure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('should have been rejected'),
    (error) => error,
  );
}

/** Injects a change of the response's vectors. */
function changed(change: (vectors: unknown[]) => unknown[]): Fault {
  return {
    change: ({ data, ...answer }) => ({
      ...answer,
      data: change(data.map(({ embedding }) => embedding)).map((embedding, index) => ({ index, embedding })),
    }),
  };
}

describe('OpenAI-compatible embedder', () => {
  let contractServer: EmbeddingServer;
  beforeAll(async () => {
    contractServer = await startEmbeddingServer();
  });
  afterAll(() => contractServer.close());

  embedderContract(async () => {
    const { url, model } = contractServer;
    return openOpenAiCompatible({ url, model }, new AbortController().signal);
  });
});

describe('the model id of an OpenAI-compatible embedder', () => {
  it('the model id of an OpenAI-compatible embedder does not depend on the port, the scheme or a trailing slash of the URL', async () => {
    const { modelId } = await open();
    expect(modelId).toBe('openai:hashed-words@127.0.0.1/v1:256');
    const another = await startEmbeddingServer();
    expect((await open({ url: `${another.url}/` })).modelId).toBe(modelId);
    await another.close();
  });

  it('depends on the host, the model name and the dimensions', async () => {
    const { modelId } = await open();
    expect((await open({ url: server.url.replace('127.0.0.1', 'localhost') })).modelId).not.toBe(modelId);
    server.dimensions = 128;
    expect((await open()).modelId).not.toBe(modelId);
    server.dimensions = 256;
    server.model = 'other-words';
    expect((await open()).modelId).not.toBe(modelId);
  });

  it('depends on prefixes unless they are empty', async () => {
    const { modelId } = await open({ prefixes: { query: '', memory: '' } });
    expect(modelId).toBe((await open()).modelId);
    const prefixes = [
      { query: 'q: ', memory: '' },
      { query: '', memory: 'q: ' },
      { query: 'q', memory: ': ' },
    ];
    const ids = [modelId];
    for (const some of prefixes) ids.push((await open({ prefixes: some })).modelId);
    expect(new Set(ids).size).toBe(4);
  });

  it('depends on input types unless they are empty, and not on prefixes of the same text', async () => {
    const { modelId } = await open({ inputTypes: { query: '', memory: '' } });
    expect(modelId).toBe((await open()).modelId);
    const texts = [
      { query: 'query', memory: 'passage' },
      { query: 'query', memory: '' },
      { query: '', memory: 'query' },
    ];
    const ids = [modelId];
    for (const some of texts) ids.push((await open({ inputTypes: some })).modelId);
    for (const some of texts) ids.push((await open({ prefixes: some })).modelId);
    expect(new Set(ids).size).toBe(7);
  });
});

describe('a request of an OpenAI-compatible embedder', () => {
  it('contains the model, the texts and the API key', async () => {
    server.apiKey = KEY;
    const embedder = await open({ apiKey: KEY });
    await embedVectors(embedder, ['one', 'two'], 'memory');
    const [request] = server.requests;
    expect(request?.body).toEqual({ model: 'hashed-words', input: ['one', 'two'], encoding_format: 'float' });
    expect(request?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'content-type': 'application/json' });
  });

  it('contains each text with the prefix for its purpose', async () => {
    const embedder = await open({ prefixes: { query: 'query: ', memory: 'passage: ' } });
    await embedVectors(embedder, ['one', '', 'two'], 'memory');
    await embedVectors(embedder, ['who'], 'query');
    expect(server.requests.map(({ inputs }) => inputs)).toEqual([['passage: one', 'passage: two'], ['query: who']]);
  });

  it('contains the input type for its purpose, and that of memories if the request only opens the model', async () => {
    const inputTypes = { query: 'search_query', memory: 'search_document' };
    const embedder = await openOpenAiCompatible(
      { url: server.url, model: server.model, inputTypes },
      new AbortController().signal,
    );
    opened.push(embedder);
    await embedVectors(embedder, ['who'], 'query');
    await embedVectors(embedder, ['one'], 'memory');
    const sent = server.requests.map(({ body }) => body.input_type);
    expect(sent).toEqual(['search_document', 'search_query', 'search_document']);
  });

  it('contains no input type for a purpose without one', async () => {
    const embedder = await open({ inputTypes: { query: 'query', memory: '' } });
    await embedVectors(embedder, ['who'], 'query');
    await embedVectors(embedder, ['one'], 'memory');
    expect(server.requests.map(({ body }) => 'input_type' in body)).toEqual([true, false]);
  });

  it('contains long texts as parts of at most 1,500 bytes, including the prefix', async () => {
    const memory = 'passage: ';
    const embedder = await open({ prefixes: { query: '', memory } });
    const text = SENTENCE.repeat(40);
    await embedVectors(embedder, [text], 'memory');
    const inputs = server.requests.flatMap((request) => request.inputs);
    expect(inputs.every((input) => input.startsWith(memory) && input.length <= 1500)).toBe(true);
    expect(inputs.map((input) => input.slice(memory.length)).join('')).toBe(text);
    const fitting = SENTENCE.repeat(17);
    for (const [bytes, parts] of [
      [1500, 1],
      [1501, 2],
    ] as const) {
      const prefixes = { query: '', memory: 'm'.repeat(bytes - fitting.length) };
      await embedVectors(await open({ prefixes }), [fitting], 'memory');
      expect(server.requests.flatMap((request) => request.inputs)).toHaveLength(parts);
    }
  });

  it('contains no API key if none is configured', async () => {
    await (await open()).embed(['one'], 'memory');
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('contains the query string of the configured URL', async () => {
    const outcome = await getFailure(open({ url: `${server.url}?api-version=1` }));
    // The test server knows only the bare path, so a 404 shows that the query string was sent.
    expect(outcome).toMatchObject({ message: 'the address does not serve embeddings (404)', option: 'embeddingUrl' });
  });

  it('contains at most 16 parts, and at most four requests run concurrently', async () => {
    const embedder = await open();
    const texts = Array.from({ length: 64 }, (_, i) => `memory ${i}`);
    await Promise.all([embedder.embed(texts, 'memory'), embedder.embed(texts, 'memory')]);
    expect(server.requests.map(({ inputs }) => inputs.length)).toEqual(Array(8).fill(16));
    expect(Math.max(...server.requests.map(({ concurrent }) => concurrent))).toBe(4);
  });

  it('a request of an OpenAI-compatible embedder is not sent after another request of the same call has failed', async () => {
    const embedder = await open();
    server.fault = ([input]) => (input?.includes('garden') ? { status: 400 } : undefined);
    await getFailure(embedder.embed([SENTENCE.repeat(4000)], 'memory'));
    // Waits behind the unsent requests of the first call.
    await embedVectors(embedder, ['what comes next'], 'memory');
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  it('contains no blank texts', async () => {
    expect(await embedVectors(await open(), [' \n', 'something', ''], 'memory')).toEqual([[], [expect.anything()], []]);
    expect(server.requests.map(({ inputs }) => inputs)).toEqual([['something']]);
  });
});

describe('a long text for an OpenAI-compatible embedder', () => {
  /** Inputs of successful requests. */
  let accepted: string[];
  beforeEach(() => {
    accepted = [];
    server.fault = (inputs) => void accepted.push(...inputs);
  });

  it('a long text for an OpenAI-compatible embedder is sent completely, in parts of whole sentences', async () => {
    const embedder = await open();
    const text = SENTENCE.repeat(100);
    accepted = [];
    const [vectors = []] = await embedVectors(embedder, [text], 'memory');
    expect(accepted.join('')).toBe(text);
    expect(vectors).toHaveLength(accepted.length);
    for (const part of accepted) expect(part).toMatch(/monastery\. $/);
    expect(Math.max(...accepted.map((part) => Buffer.byteLength(part)))).toBeLessThanOrEqual(1500);
  });

  it('a long text for an OpenAI-compatible embedder is split into smaller parts if the server rejects a part as too long, without affecting other texts', async () => {
    server.maxWords = 40;
    const embedder = await open();
    accepted = [];
    const text = SENTENCE.repeat(30);
    const lists = await embedVectors(embedder, ['before', text, 'after'], 'memory');
    expect(accepted.join('')).toBe(`before${text}after`);
    expect(lists.map((list) => list.length)).toEqual([1, accepted.length - 2, 1]);
    for (const vector of lists.flat()) expect(Math.hypot(...vector)).toBeCloseTo(1, 4);
    expect(await embedVectors(embedder, [text], 'query')).toEqual([[expect.anything()]]);
  });

  it.each([413, 400, 500])(
    'a long text for an OpenAI-compatible embedder is split into smaller parts after the status %i',
    async (status) => {
      const embedder = await open();
      server.fault = (inputs) => {
        if (inputs.join('').length > 500) return { status, message: 'input is too large to process' };
        accepted.push(...inputs);
        return undefined;
      };
      accepted = [];
      const text = SENTENCE.repeat(20);
      await embedVectors(embedder, [text], 'memory');
      expect(accepted.join('')).toBe(text);
    },
  );

  it('a long text for an OpenAI-compatible embedder is rejected if even its shortest parts are too long, and later texts are embedded', async () => {
    const embedder = await open();
    server.fault = (inputs) => (inputs.some((text) => text.includes('poison')) ? { status: 413 } : undefined);
    const error = await getFailure(embedder.embed(['poison'], 'memory'));
    expect(error).not.toBeInstanceOf(EmbedderUnavailable);
    expect(error).toMatchObject({ message: 'the embedding server rejects a text as too long' });
    expect(await embedVectors(embedder, ['bread'], 'memory')).toHaveLength(1);
  });
});

describe('an OpenAI-compatible embedder reports the cause and the option for', () => {
  const faults: { row: string; fault?: Fault; model?: Partial<EmbeddingModel>; says: string; option?: string }[] = [
    { row: 'a wrong key', model: { apiKey: KEY }, says: 'rejects the API key (401)', option: 'embeddingApiKey' },
    { row: 'a missing key', model: {}, says: 'requires an API key (401)', option: 'embeddingApiKey' },
    { row: 'a wrong model', model: { model: 'other' }, says: 'does not know the model (404)', option: 'embedder' },
    { row: 'too many requests', fault: { status: 429 }, says: 'is limiting requests (429)' },
    { row: 'a server error', fault: { status: 500 }, says: 'fails (500)' },
    { row: 'a bad gateway', fault: { status: 502 }, says: 'fails (502)' },
    { row: 'a rejection of every text', fault: { status: 400 }, says: 'rejects every text', option: 'embedder' },
    {
      row: 'a truncated response',
      fault: 'truncate',
      says: 'returned a response that is not JSON',
      option: 'embeddingUrl',
    },
    { row: 'a dropped connection', fault: 'disconnect', says: 'cannot be reached', option: 'embeddingUrl' },
    { row: 'another protocol', fault: { change: () => ({ ok: true }) }, says: 'no list of vectors' },
    { row: 'a surplus vector', fault: changed(([v]) => [v, v]), says: 'returned 2 vectors for 1 text' },
    { row: 'no vector', fault: changed(() => []), says: 'returned 0 vectors for 1 text' },
    { row: 'null as a vector', fault: changed(() => [null]), says: 'an item without a vector' },
    { row: 'an empty vector', fault: changed(() => [[]]), says: 'an item without a vector' },
    { row: 'strings as numbers', fault: changed(() => [['1', '2']]), says: 'values that are not numbers' },
    { row: 'null as a number', fault: changed(() => [[1, null]]), says: 'values that are not numbers' },
    { row: 'an infinite length', fault: changed(() => [[1.7e308, 1.7e308]]), says: 'zero or infinite' },
    { row: 'a zero vector', fault: changed(() => [[0, 0]]), says: 'zero or infinite' },
  ];
  it.each(faults)(
    'an OpenAI-compatible embedder reports the cause and the option for $row',
    async ({ fault, model, says, option }) => {
      if (model && !model.model) server.apiKey = `not ${KEY}`;
      server.fault = () => fault;
      const error = (await getFailure(open(model))) as EmbedderUnavailable;
      expect(error).toBeInstanceOf(EmbedderUnavailable);
      expect(error.message).toContain(says);
      if (option) expect(error.option).toBe(option);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(KEY);
    },
  );

  it('an OpenAI-compatible embedder reports the cause and the option for an unreachable server', async () => {
    const { url } = await startEmbeddingServer().then(async (gone) => {
      await gone.close();
      return gone;
    });
    const error = (await getFailure(open({ url }))) as EmbedderUnavailable;
    expect(error).toMatchObject({ message: 'the embedding server cannot be reached', option: 'embeddingUrl' });
    expect(error.cause).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
  });

  it('an OpenAI-compatible embedder reports the cause and the option for a wrong URL', async () => {
    const error = await getFailure(open({ url: server.url.replace('/v1', '/v2') }));
    expect(error).toMatchObject({ message: 'the address does not serve embeddings (404)', option: 'embeddingUrl' });
  });

  it('an OpenAI-compatible embedder reports the cause and the option for a failure without exposing a key that is invalid or that the server repeats', async () => {
    const error = await getFailure(open({ apiKey: `${KEY}\nagain` }));
    expect(error).toBeInstanceOf(EmbedderUnavailable);
    expect(inspect(error, { depth: 9 })).not.toContain(KEY);
    server.fault = () => ({ status: 500, message: `cannot parse Bearer ${KEY}` });
    const repeated = (await getFailure(open({ apiKey: KEY }))) as Error;
    expect(repeated.cause).toMatchObject({ message: expect.stringContaining('cannot parse Bearer [key]') });
  });

  it('an OpenAI-compatible embedder reports the cause and the option for a failure without exposing a text that the server quotes', async () => {
    const embedder = await open();
    for (const status of [400, 422, 413, 500, 404]) {
      server.fault = ([input]) => ({ status, message: `too long: ${input}` });
      const error = await getFailure(embedder.embed(['Ada is allergic to peanuts'], 'memory'));
      expect(inspect(error, { depth: 9 })).not.toContain('peanuts');
    }
  });

  it('an OpenAI-compatible embedder reports the cause and the option for vectors whose length changes or differs', async () => {
    const embedder = await open();
    server.fault = () => changed(([first, ...others]) => [first, ...others.map(() => [1, 2])]);
    expect(await getFailure(embedder.embed(['a', 'b'], 'memory'))).toMatchObject({
      message: 'the embedding server returned vectors of different lengths',
    });
    server.fault = undefined;
    server.dimensions = 128;
    expect(await getFailure(embedder.embed(['a'], 'query'))).toMatchObject({
      message: expect.stringContaining('vectors of 128 dimensions instead of 256'),
      option: 'embedder',
    });
    server.dimensions = 256;
    expect(await embedVectors(embedder, ['a'], 'query')).toHaveLength(1);
  });

  it('an OpenAI-compatible embedder reports the cause and the option for a timeout, and then sends smaller requests', async () => {
    const embedder = await open();
    server.fault = (inputs) => (inputs.length > 4 ? 'hang' : undefined);
    expect(await getFailure(embedder.embed([SENTENCE.repeat(200)], 'query'))).toMatchObject({
      message: 'the embedding server does not respond in time',
      option: 'embeddingUrl',
    });
    server.requests.length = 0;
    const texts = Array.from({ length: 16 }, (_, i) => `memory ${i}`);
    expect(await embedVectors(embedder, texts, 'memory')).toHaveLength(16);
    expect(server.requests.map(({ inputs }) => inputs.length)).toEqual([4, 4, 4, 4]);
  });
});

describe('a transient failure of an OpenAI-compatible server', () => {
  it.each<[string, Fault]>([
    ['a rate limit', { status: 429, headers: { 'retry-after': '1' } }],
    ['a server error', { status: 500 }],
    ['a restarting server', { status: 503, headers: { 'retry-after': '0' } }],
    ['a dropped connection', 'disconnect'],
  ])('a transient failure of an OpenAI-compatible server is retried: %s', async (_, fault) => {
    const embedder = await open();
    let left = 1;
    server.fault = () => (left-- > 0 ? fault : undefined);
    expect(await embedVectors(embedder, ['patience'], 'memory')).toEqual([[expect.anything()]]);
    expect(server.requests).toHaveLength(2);
  });

  it('a transient failure of an OpenAI-compatible server is not retried if the server rejects the text', async () => {
    const embedder = await open();
    server.fault = () => ({ status: 400 });
    await getFailure(embedder.embed(['patience'], 'memory'));
    expect(server.requests).toHaveLength(1);
  });
});

describe('the vectors of an OpenAI-compatible server', () => {
  it('the vectors of an OpenAI-compatible server are assigned to their texts by index', async () => {
    const embedder = await open();
    const [one, two] = await embedVectors(embedder, ['cats and dogs', 'bread and butter'], 'memory');
    server.fault = () => ({ change: ({ data, ...answer }) => ({ ...answer, data: data.reverse() }) });
    expect(await embedVectors(embedder, ['cats and dogs', 'bread and butter'], 'memory')).toEqual([one, two]);
  });
});

describe('stopping an OpenAI-compatible embedder', () => {
  it('aborts hanging requests when the embedder is closed', async () => {
    const embedder = await open();
    server.fault = () => 'hang';
    const waiting = getFailure(embedder.embed(['waits'], 'memory'));
    await expect.poll(() => server.requests.length).toBe(1);
    await embedder.close();
    expect(await waiting).toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('aborts opening when the signal is aborted', async () => {
    server.fault = () => 'hang';
    const abort = new AbortController();
    const opening = getFailure(openOpenAiCompatible({ url: server.url, model: server.model }, abort.signal));
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort();
    expect(await opening).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
