import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Time that each text takes: a server answers what is short before what is long. */
const TEXT_MS = 3;

/** Words of one meaning share a vector. */
const MEANINGS: Record<string, string> = { feline: 'cat', kitten: 'cat', vessel: 'boat', ferry: 'boat' };

interface EmbeddingRequest {
  inputs: string[];
  body: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** Requests that were being answered when this one came, itself included. */
  atOnce: number;
}

interface EmbeddingAnswer {
  object: 'list';
  data: { object: 'embedding'; index: number; embedding: unknown }[];
  model: string;
}

/** What happens to a request instead of the right answer. */
export type Fault =
  | 'hang'
  | 'disconnect'
  | 'truncate'
  | { status: number; headers?: Record<string, string>; message?: string }
  | { change: (answer: EmbeddingAnswer) => unknown };

/** A running server; its settings may be changed while it runs. */
export interface EmbeddingServer {
  /** What comes before `/embeddings`. */
  readonly url: string;
  readonly requests: EmbeddingRequest[];
  model: string;
  /** Key that it wants, where it wants one. */
  apiKey: string | undefined;
  dimensions: number;
  /** Most words of a text; longer ones are refused. */
  mostWords: number;
  /** Decides over each request that is right in itself. */
  fault: ((inputs: string[]) => Fault | undefined) | undefined;
  close(): Promise<void>;
}

/**
 * A server that speaks the OpenAI embeddings protocol, as a third party would, with vectors made of hashed words: texts
 * are near as far as they share words, or meanings of the few that it knows.
 */
export async function startEmbeddingServer(): Promise<EmbeddingServer> {
  let atOnce = 0;
  const http = createServer(async (request, response) => {
    atOnce++;
    response.once('close', () => atOnce--);
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    if (request.method !== 'POST' || request.url !== '/v1/embeddings') return send(response, refusal(404, 'no page'));
    const body = JSON.parse(text);
    server.requests.push({ inputs: body.input, body, headers: request.headers, atOnce });
    await delay(TEXT_MS * body.input.length);
    send(response, replyTo(server, body, request.headers.authorization));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server: EmbeddingServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    requests: [],
    model: 'hashed-words',
    apiKey: undefined,
    dimensions: 256,
    mostWords: 400,
    fault: undefined,
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return server;
}

type Reply = 'hang' | 'disconnect' | { status: number; headers?: Record<string, string>; text: string };

function replyTo(
  server: EmbeddingServer,
  { model, input }: { model: string; input: string[] },
  authorization: string | undefined,
): Reply {
  if (server.apiKey !== undefined && authorization !== `Bearer ${server.apiKey}`) {
    return refusal(401, `Incorrect API key provided: ${authorization}`);
  }
  if (model !== server.model) return refusal(404, `The model ${model} does not exist`);
  if (input.some((text) => getWords(text).length > server.mostWords)) {
    return refusal(400, `This model's maximum context length is ${server.mostWords} tokens`);
  }
  const data = input.map((text, index) => {
    return { object: 'embedding' as const, index, embedding: getEmbedding(text, server.dimensions) };
  });
  return faulty({ object: 'list', data, model }, server.fault?.(input));
}

function faulty(answer: EmbeddingAnswer, fault: Fault | undefined): Reply {
  if (fault === 'hang' || fault === 'disconnect') return fault;
  if (fault === 'truncate') return { status: 200, text: JSON.stringify(answer).slice(0, -20) };
  if (fault && 'status' in fault) return { ...refusal(fault.status, fault.message ?? 'no'), ...fault };
  return { status: 200, text: JSON.stringify(fault ? fault.change(answer) : answer) };
}

function refusal(status: number, message: string): { status: number; text: string } {
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
    const bytes = bits.update(MEANINGS[word] ?? word).digest();
    for (let i = 0; i < dimensions; i++)
      sum[i] = (sum[i] as number) + (((bytes[i >> 3] as number) >> (i & 7)) & 1) - 0.5;
  }
  return sum;
}
