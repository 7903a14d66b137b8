import { chooseOffered, formatInstructions } from '../mcp/offer.ts';
import type { CommandLineOptions } from './arguments.ts';
import { MARKS, type PreparedEra, type PreparedResponses, type PreparedTool } from './prepared.ts';

/** The `_meta` keys that each request of a revision without `initialize` carries. */
const META = 'io.modelcontextprotocol/';
const VERSION_KEY = `${META}protocolVersion`;

/** Maximum number of answered messages, because all of them are kept for the real server. */
const MAX_ANSWERED = 64;

type Era = 'session' | 'request';
type JsonObject = Record<string, unknown>;

/**
 * The beginning of a connection that is answered from prepared answers. Only messages of the simplest valid form are
 * answered; all other messages, including every invalid one, are for the real server.
 */
export class Conversation {
  readonly #prepared: PreparedResponses;
  readonly #instructions: string;
  readonly #tools: string;
  readonly #answered: string[] = [];
  /** The kind of revision that the connection uses, once it is known. */
  #era: Era | undefined;
  #isInitialized = false;

  private constructor(prepared: PreparedResponses, offered: readonly PreparedTool[], isStructured: boolean) {
    this.#prepared = prepared;
    this.#instructions = JSON.stringify(formatInstructions(offered.map(({ use }) => use)));
    this.#tools = `[${offered.map((tool) => (isStructured ? tool.structured : tool.listed)).join()}]`;
  }

  /** Returns a conversation for the options of a process; undefined if they name an unknown tool. */
  static create(prepared: PreparedResponses, given: CommandLineOptions): Conversation | undefined {
    const chosen = chooseOffered(prepared.tools, given.get('--tools') as string | undefined);
    const isScoped = given.has('--user') || given.has('--agent');
    const offered = chosen?.filter((tool) => tool.isScoped || !isScoped);
    return offered && new Conversation(prepared, offered, given.has('--structured'));
  }

  /** The lines answered so far, which the real server must receive before all others. */
  get answered(): readonly string[] {
    return this.#answered;
  }

  /**
   * Returns the line that answers a message: a response, or an empty text for a notification. Returns undefined if the
   * message is for the real server, which must then receive all later messages too.
   */
  answer(line: string): string | undefined {
    if (this.#answered.length >= MAX_ANSWERED) return undefined;
    const message = parseMessage(line);
    if (!message) return undefined;
    const era = getEra(message.params, this.#prepared.requestRevision);
    if (era === undefined || (this.#era !== undefined && this.#era !== era)) return undefined;
    const answer = message.id === undefined ? this.#note(message, era) : this.#respond(message, era);
    if (answer === undefined) return undefined;
    // A client that asks for the revisions of the server has not yet chosen one.
    if (message.method !== 'server/discover') this.#era = era;
    this.#isInitialized ||= message.method === 'initialize';
    this.#answered.push(line);
    return answer;
  }

  #note({ method }: Message, era: Era): string | undefined {
    return method === 'notifications/initialized' && era === 'session' && this.#isInitialized ? '' : undefined;
  }

  #respond({ id, method, params }: Message, era: Era): string | undefined {
    const outcome = this.#getOutcome(this.#prepared[era], method, params, era);
    return outcome === undefined ? undefined : `{${outcome},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n`;
  }

  /** Returns the member `result` or `error` of a response as text. */
  #getOutcome(prepared: PreparedEra, method: string, params: JsonObject, era: Era): string | undefined {
    if (era === 'session' && method === 'initialize') {
      if (this.#isInitialized || !isInitialize(params)) return undefined;
      const { initialize, initializeOther } = this.#prepared;
      const { protocolVersion: asked } = params;
      return this.#toResult((Object.hasOwn(initialize, asked) && initialize[asked]) || initializeOther);
    }
    if (!this.#prepared.methods.includes(method)) return `"error":${prepared.unknownMethod}`;
    const result = prepared.results[method];
    // Other parameters, such as a cursor, are for the real server.
    const isPlain = Object.keys(params).every((key) => key === '_meta');
    return result === undefined || !isPlain ? undefined : this.#toResult(result);
  }

  #toResult(marked: string): string {
    const text = marked.replace(MARKS.instructions, () => this.#instructions).replace(MARKS.tools, () => this.#tools);
    return `"result":${text}`;
  }
}

interface Message {
  /** Undefined for a notification. */
  id: string | number | undefined;
  method: string;
  params: JsonObject;
}

const KEYS = new Set(['jsonrpc', 'id', 'method', 'params']);

function parseMessage(line: string): Message | undefined {
  const value = parseJson(line);
  if (!isObject(value) || value.jsonrpc !== '2.0' || !Object.keys(value).every((key) => KEYS.has(key)))
    return undefined;
  const { id, method, params = {} } = value;
  if ('id' in value && typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined;
  if (typeof method !== 'string' || !isObject(params)) return undefined;
  return { id: id as Message['id'], method, params };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The real server answers a line that is not JSON.
    return undefined;
  }
}

/** Returns the kind of revision that a message uses; undefined if its `_meta` is not of the simplest valid form. */
function getEra({ _meta: meta = {} }: JsonObject, requestRevision: string): Era | undefined {
  if (!isObject(meta)) return undefined;
  const { progressToken = '' } = meta;
  if (typeof progressToken !== 'string' && !Number.isSafeInteger(progressToken)) return undefined;
  if (!(VERSION_KEY in meta)) return 'session';
  const own = Object.keys(meta).filter((key) => key.startsWith(META));
  if (own.length !== 3 || meta[VERSION_KEY] !== requestRevision || !isImplementation(meta[`${META}clientInfo`]))
    return undefined;
  return isObject(meta[`${META}clientCapabilities`]) ? 'request' : undefined;
}

function isInitialize(params: JsonObject): params is JsonObject & { protocolVersion: string } {
  const { protocolVersion, capabilities, clientInfo } = params;
  return typeof protocolVersion === 'string' && isObject(capabilities) && isImplementation(clientInfo);
}

function isImplementation(value: unknown): boolean {
  return isObject(value) && typeof value.name === 'string' && typeof value.version === 'string';
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
