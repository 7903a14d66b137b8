import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startLocalServer } from '../local-server.fixture.ts';

interface Memory {
  id: string;
  created_at: string;
  content: string;
}

interface ChatRequest {
  /** The memories in the user message. */
  memories: Memory[];
  /** The system message. */
  instructions: string;
  body: { model: string; messages: { role: string; content: string }[] };
  headers: IncomingHttpHeaders;
}

/** The model's message, as text or as an object that is sent as JSON, or a failure to inject. */
export type Reply =
  | { says: unknown; finishReason?: string }
  | { refuses: string }
  | { body: string }
  | { status: number; message?: string; headers?: Record<string, string> }
  | 'hang'
  | 'hang in the body'
  | 'endless body'
  | 'disconnect';

/** A running server. Its replies can change while it runs. */
export interface ChatServer {
  /** Base URL, without `/chat/completions`. */
  readonly url: string;
  readonly requests: ChatRequest[];
  model: string;
  /** Required API key; undefined to require none. */
  apiKey: string | undefined;
  reply: (memories: Memory[]) => Reply;
  close(): Promise<void>;
}

/**
 * Starts a server of the OpenAI chat protocol that behaves like third-party servers. Its model returns the first line
 * of each memory as a fact.
 */
export async function startChatServer(): Promise<ChatServer> {
  const { origin, close } = await startLocalServer(async (request, response) => {
    const sent = await text(request);
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') return refuse(response, 404, 'no page');
    const body: ChatRequest['body'] = JSON.parse(sent);
    const [system, user] = body.messages;
    const { memories } = JSON.parse(user?.content ?? '{}');
    server.requests.push({ memories, instructions: system?.content ?? '', body, headers: request.headers });
    const { authorization } = request.headers;
    if (server.apiKey !== undefined && authorization !== `Bearer ${server.apiKey}`) {
      return refuse(response, 401, `Incorrect API key provided: ${authorization}`);
    }
    if (body.model !== server.model) return refuse(response, 404, `The model ${body.model} does not exist`);
    send(response, server.reply(memories), server.model);
  });
  const server: ChatServer = {
    url: `${origin}/v1`,
    requests: [],
    model: 'first-lines',
    apiKey: undefined,
    reply: (memories) => ({ says: { facts: getFirstLines(memories), corrections: [] } }),
    close,
  };
  return server;
}

/** Returns the first line of each of the first eight memories as a fact. */
function getFirstLines(memories: Memory[]): { text: string; sources: string[] }[] {
  return memories.slice(0, 8).map(({ id, content }) => {
    const [line = ''] = content.trim().split(/\s*[\n\r\u2028]\s*/);
    return { text: [...line].slice(0, 100).join(''), sources: [id] };
  });
}

function send(response: ServerResponse, reply: Reply, model: string): void {
  if (reply === 'disconnect') response.destroy();
  else if (reply === 'hang in the body') response.writeHead(200).write('{"choices": [');
  else if (reply === 'endless body') writeWithoutEnd(response.writeHead(200));
  else if (reply === 'hang') return;
  else if ('status' in reply) refuse(response, reply.status, reply.message ?? 'no', reply.headers);
  else if ('body' in reply) response.writeHead(200).end(reply.body);
  else if ('refuses' in reply) sendCompletion(response, model, { content: null, refusal: reply.refuses }, 'stop');
  else {
    const content = typeof reply.says === 'string' ? reply.says : JSON.stringify(reply.says);
    sendCompletion(response, model, { content }, reply.finishReason ?? 'stop');
  }
}

function sendCompletion(response: ServerResponse, model: string, message: object, finish_reason: string): void {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }];
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, choices, usage };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error' } });
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

function writeWithoutEnd(response: ServerResponse): void {
  while (!response.destroyed && response.write(' '.repeat(64 * 1024)));
  if (!response.destroyed) response.once('drain', () => writeWithoutEnd(response));
}
