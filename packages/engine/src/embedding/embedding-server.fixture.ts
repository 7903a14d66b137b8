import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { startLocalServer } from '../local-server.fixture.ts';

/** Delay per text in ms, so that shorter requests finish before longer requests. */
const TEXT_MS = 3;

/** Synonyms share a vector. */
const SYNONYMS: Record<string, string> = { feline: 'cat', kitten: 'cat', vessel: 'boat', ferry: 'boat' };

interface EmbeddingRequest {
  inputs: string[];
  body: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** Number of concurrent requests at the start of this request, including this request. */
  concurrent: number;
}

interface EmbeddingResponse {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: unknown }[];
  model: string;
}

/** A failure to inject instead of the normal response. */
export type Fault =
  | 'hang'
  | 'disconnect'
  | 'truncate'
  | { status: number; headers?: Record<string, string>; message?: string }
  | { change: (body: EmbeddingResponse) => unknown };

/** A running server. Its settings can change while it runs. */
export interface EmbeddingServer {
  /** Base URL, without `/embeddings`. */
  readonly url: string;
  readonly requests: EmbeddingRequest[];
  model: string;
  /** Required API key; undefined to require none. */
  apiKey: string | undefined;
  dimensions: number;
  /** Maximum words of a text; longer texts are rejected. */
  maxWords: number;
  /** Returns the failure to inject into a valid request. */
  fault: ((inputs: string[]) => Fault | undefined) | undefined;
  close(): Promise<void>;
}

/**
 * Starts a server of the OpenAI embeddings protocol that behaves like third-party servers. Vectors are computed from
 * hashed words, so texts are similar if they share words or a pair of `SYNONYMS`.
 */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  let concurrent = 0;
  const { origin, close } = await startLocalServer(async (request, response) => {
    concurrent++;
    response.once('close', () => concurrent--);
    const sent = await text(request);
    if (request.method !== 'POST' || request.url !== '/v1/embeddings')
      return send(response, createRefusal(404, 'no page'));
    const body = JSON.parse(sent);
    server.requests.push({ inputs: body.input, body, headers: request.headers, concurrent });
    await delay(TEXT_MS * body.input.length);
    send(response, createReply(server, body, request.headers.authorization));
  });
  const server: EmbeddingServer = {
    url: `${origin}/v1`,
    requests: [],
    model: 'hashed-words',
    apiKey: undefined,
    dimensions: 256,
    maxWords: 400,
    fault: undefined,
    close,
  };
  return server;
}

type Reply = 'hang' | 'disconnect' | { status: number; headers?: Record<string, string>; text: string };

function createReply(
  server: EmbeddingServer,
  { model, input }: { model: string; input: string[] },
  authorization: string | undefined,
): Reply {
  if (server.apiKey !== undefined && authorization !== `Bearer ${server.apiKey}`) {
    return createRefusal(401, `Incorrect API key provided: ${authorization}`);
  }
  if (model !== server.model) return createRefusal(404, `The model ${model} does not exist`);
  if (input.some((text) => getWords(text).length > server.maxWords)) {
    return createRefusal(400, `This model's maximum context length is ${server.maxWords} tokens`);
  }
  const data = input.map((text, index) => {
    return { object: 'embedding' as const, index, embedding: getEmbedding(text, server.dimensions) };
  });
  return injectFault({ object: 'list', data, model }, server.fault?.(input));
}

function injectFault(body: EmbeddingResponse, fault: Fault | undefined): Reply {
  if (fault === 'hang' || fault === 'disconnect') return fault;
  if (fault === 'truncate') return { status: 200, text: JSON.stringify(body).slice(0, -20) };
  if (fault && 'status' in fault) return { ...createRefusal(fault.status, fault.message ?? 'no'), ...fault };
  return { status: 200, text: JSON.stringify(fault ? fault.change(body) : body) };
}

function createRefusal(status: number, message: string): { status: number; text: string } {
  return { status, text: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) };
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'disconnect') response.destroy();
  else if (reply !== 'hang') {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(reply.text);
  }
}

function getWords(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+|[^\sa-z0-9]/gu) ?? ['nothing'];
}

function getEmbedding(text: string, dimensions: number): number[] {
  const sum = new Array<number>(dimensions).fill(0);
  for (const word of getWords(text)) {
    const bits = createHash('shake256', { outputLength: Math.ceil(dimensions / 8) });
    const bytes = bits.update(SYNONYMS[word] ?? word).digest();
    for (let i = 0; i < dimensions; i++)
      sum[i] = (sum[i] as number) + (((bytes[i >> 3] as number) >> (i & 7)) & 1) - 0.5;
  }
  return sum;
}
