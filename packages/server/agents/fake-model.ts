import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { anthropic } from './dialects/anthropic.ts';
import type { Conversation, Dialect, OfferedTool, Turn } from './dialects/dialect.ts';
import { gemini } from './dialects/gemini.ts';
import { openAiChat } from './dialects/openai-chat.ts';
import { openAiResponses } from './dialects/openai-responses.ts';

const DIALECTS: readonly Dialect[] = [anthropic, openAiResponses, openAiChat, gemini];

/** Calls that a prompt makes the model do. Encoded, because programs quote and escape prompts. */
const CALLS = /calls:([\w-]+):end/;

export interface ToolCall {
  /** Matches the name under which a program offers the tool. */
  tool: RegExp;
  args: object;
}

/** A request for a response of the model. */
export interface ModelRequest extends Conversation {
  path: string;
  /** Whether the prompt of the request has calls. Programs also ask for titles and choices of a model. */
  hasCalls: boolean;
}

/**
 * A service with the APIs of four kinds of models, for programs that take their address from a setting. Its model does
 * the calls that `toPrompt` writes into a prompt, one after the other, and then says that it is done.
 */
export class FakeModel {
  /** Such as `http://127.0.0.1:8090`. */
  readonly url: string;
  readonly close: () => Promise<void>;
  #requests: ModelRequest[] = [];
  #count = 0;

  private constructor(server: ReturnType<typeof createServer>) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => {
      this.#respond(request, response).catch((error) => {
        response.writeHead(500).end(JSON.stringify({ error: { message: String(error) } }));
      });
    });
    this.close = () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
  }

  static async start(): Promise<FakeModel> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeModel(server);
  }

  /** Returns the requests since the last call, in order of arrival. */
  takeRequests(): ModelRequest[] {
    const requests = this.#requests;
    this.#requests = [];
    return requests;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path } = new URL(request.url ?? '', this.url);
    const body: unknown = JSON.parse((await readText(request)) || 'null');
    const dialect = DIALECTS.find((candidate) => candidate.path.test(path));
    if (!dialect || request.method !== 'POST') {
      // Also for the list of models and for counts of tokens, which programs can do without.
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}');
      return;
    }
    const conversation = dialect.read(body);
    this.#requests.push({ ...conversation, path, hasCalls: findCalls(conversation) !== undefined });
    const turn = getTurn(conversation);
    const id = String(++this.#count);
    if (!dialect.isStream(body, path)) {
      const json = JSON.stringify(dialect.toJson(turn, id, body));
      response.writeHead(200, { 'content-type': 'application/json' }).end(json);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { name, data } of dialect.toStream(turn, id, body)) {
      if (name !== undefined) response.write(`event: ${name}\n`);
      response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
    }
    response.end();
  }
}

/** Returns a prompt that makes the model do these calls in this order. */
export function toPrompt(text: string, ...calls: ToolCall[]): string {
  const plain = calls.map(({ tool, args }) => ({ tool: tool.source, args }));
  return `${text} calls:${Buffer.from(JSON.stringify(plain)).toString('base64url')}:end`;
}

/** Returns the calls of the last prompt and how many of them have a result; `undefined` if no prompt has calls. */
function findCalls({ parts }: Conversation): { calls: ToolCall[]; done: number } | undefined {
  const at = parts.findLastIndex(({ role, text }) => role === 'user' && CALLS.test(text));
  const encoded = CALLS.exec(parts[at]?.text ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const plain: { tool: string; args: object }[] = JSON.parse(Buffer.from(encoded, 'base64url').toString());
  return {
    calls: plain.map(({ tool, args }) => ({ tool: new RegExp(tool), args })),
    done: parts.slice(at).filter(({ role }) => role === 'tool').length,
  };
}

function getTurn(conversation: Conversation): Turn {
  const { calls = [], done = 0 } = findCalls(conversation) ?? {};
  const call = calls[done];
  if (!call) return { text: 'Done.' };
  const tool = conversation.tools.find(({ name }) => call.tool.test(name));
  return tool ? { tool, args: completeArguments(tool, call.args) } : { text: `No tool has a name like ${call.tool}.` };
}

interface ArgumentSchema {
  properties?: Record<string, object>;
  required?: string[];
}

/** The schema of the arguments in a definition, under the name that each API has for it. */
interface Definition {
  parameters?: ArgumentSchema;
  input_schema?: ArgumentSchema;
  parametersJsonSchema?: ArgumentSchema;
  function?: { parameters?: ArgumentSchema };
}

/** A schema that accepts null, in JSON Schema or as Gemini CLI converts it. */
const NULLABLE = /"null"|"nullable":true/;

/** Adds null for each required argument that may be null, as models do that keep to a schema. */
function completeArguments({ definition }: OfferedTool, args: object): object {
  const { parameters, input_schema, parametersJsonSchema, function: nested } = definition as Definition;
  const schema = parameters ?? input_schema ?? parametersJsonSchema ?? nested?.parameters;
  const { properties = {}, required = [] } = schema ?? {};
  const nullable = required.filter((name) => NULLABLE.test(JSON.stringify(properties[name]) ?? ''));
  return { ...Object.fromEntries(nullable.map((name) => [name, null])), ...args };
}
