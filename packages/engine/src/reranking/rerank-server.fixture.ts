import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { RerankForm } from '../engine-defaults.ts';
import { startLocalServer } from '../local-server.fixture.ts';

/** Duration of a request in ms, so that requests overlap. */
const REQUEST_MS = 3;

interface RerankRequest {
  query: string;
  texts: string[];
  body: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  /** Number of concurrent requests at the start of this request, including this request. */
  concurrent: number;
}

interface Row {
  index: number;
  score: number;
}

/** A failure to inject instead of the normal response. */
export type Fault =
  | 'hang'
  | 'disconnect'
  | { status: number; message?: string; location?: string }
  | { change: (rows: Row[]) => unknown };

/** A running server. Its settings can change while it runs. */
export interface RerankServer {
  /** Whole URL of the endpoint. */
  readonly url: string;
  readonly requests: RerankRequest[];
  form: RerankForm;
  model: string;
  /** Required API key; undefined to require none. */
  apiKey: string | undefined;
  /** Returns the score of a text. */
  score: (query: string, text: string) => number;
  fault: Fault | undefined;
  close(): Promise<void>;
}

/**
 * Starts a server of one of the forms of reranking that behaves like third-party servers. By default, the score of a
 * text is the share of the query's words in it.
 */
export async function startRerankServer(form: RerankForm = 'tei'): Promise<RerankServer> {
  let concurrent = 0;
  const { origin, close } = await startLocalServer(async (request, response) => {
    concurrent++;
    response.once('close', () => concurrent--);
    const sent = await text(request);
    if (request.method !== 'POST' || request.url !== '/any/rerank?version=1')
      return send(response, createRefusal(404, 'no page'));
    const body = JSON.parse(sent);
    const texts = server.form === 'tei' ? body.texts : body.documents;
    server.requests.push({ query: body.query, texts, body, headers: request.headers, concurrent });
    await delay(REQUEST_MS);
    send(response, createReply(server, body, request.headers.authorization));
  });
  const server: RerankServer = {
    url: `${origin}/any/rerank?version=1`,
    requests: [],
    form,
    model: 'shared-words',
    apiKey: undefined,
    score: getWordShare,
    fault: undefined,
    close,
  };
  return server;
}

type Reply = 'hang' | 'disconnect' | { status: number; body: unknown; location?: string | undefined };

function createReply(
  server: RerankServer,
  { query, texts, documents, model, top_n }: Record<string, unknown>,
  authorization: string | undefined,
): Reply {
  const { form, fault } = server;
  if (server.apiKey !== undefined && authorization !== `Bearer ${server.apiKey}`) {
    return createRefusal(401, `Incorrect API key provided: ${authorization}`);
  }
  if (form === 'cohere' && model !== server.model) return createRefusal(404, `model ${model} not found`);
  const inputs = form === 'tei' ? texts : documents;
  if (!Array.isArray(inputs)) return createRefusal(422, 'missing field');
  if (fault === 'hang' || fault === 'disconnect') return fault;
  if (fault && 'status' in fault) {
    return { ...createRefusal(fault.status, fault.message ?? 'no'), location: fault.location };
  }
  const rows = inputs.map((text: string, index) => ({ index, score: server.score(String(query), text) }));
  rows.sort((a, b) => b.score - a.score);
  const returned = form === 'tei' ? rows : rows.slice(0, Number(top_n));
  return { status: 200, body: fault ? fault.change(returned) : toBody(form, returned) };
}

function toBody(form: RerankForm, rows: readonly Row[]): unknown {
  if (form === 'tei') return rows;
  return { id: 'any', results: rows.map(({ index, score }) => ({ index, relevance_score: score })) };
}

function createRefusal(status: number, message: string) {
  return { status, body: { error: message } };
}

/** Sends a text as it is, and any other body as JSON. */
function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'disconnect') response.destroy();
  else if (reply !== 'hang') {
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
    const { status, location } = reply;
    response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) }).end(text);
  }
}

function getWordShare(query: string, text: string): number {
  const words = new Set(text.toLowerCase().match(/\w+/g));
  const asked = query.toLowerCase().match(/\w+/g) ?? [];
  return asked.filter((word) => words.has(word)).length / Math.max(1, asked.length);
}
