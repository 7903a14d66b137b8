import type { ErrorBody } from '@memoryd/contract';
import {
  type CallToolResult,
  Client,
  type LoggingMessageNotification,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/client/stdio';
import { expect } from 'vitest';
import { getCommand } from './process.ts';

/** A protocol revision: the last one with `initialize`, or the first one without. */
export type Revision = '2025-11-25' | '2026-07-28';

/** An MCP client, built on the SDK's client, that asserts the outcome of each tool call. */
export class Agent {
  readonly client: Client;
  /** Protocol errors, such as a line that is not a message. */
  readonly faults: Error[] = [];
  /** Log messages from the server. */
  readonly log: LoggingMessageNotification['params'][] = [];

  constructor(revision: Revision = '2025-11-25') {
    const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision };
    this.client = new Client({ name: 'conformance', version: '1' }, { versionNegotiation: { mode } });
  }

  /** Connects and lists the tools. The SDK's client then validates every result against the tool's schema. */
  async connect(transport: Transport): Promise<this> {
    this.client.onerror = (error) => this.faults.push(error);
    this.client.setNotificationHandler('notifications/message', ({ params }) => void this.log.push(params));
    await this.client.connect(transport);
    await this.client.listTools();
    return this;
  }

  /** Calls a tool and returns its result, whether it succeeds or fails. */
  result(name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
    return this.client.callTool({ name, arguments: args });
  }

  /** Calls a tool, expects it to succeed and returns its structured content. */
  async call<Answer>(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
    const result = await this.result(name, args);
    expect(result.isError, getText(result)).toBeFalsy();
    expect(getText(result)).toMatch(/\S/);
    return result.structuredContent as Answer;
  }

  /** Calls a tool, expects it to fail and returns the error and the text that a model reads. */
  async failure(name: string, args: Record<string, unknown> = {}): Promise<{ error: ErrorBody; text: string }> {
    const result = await this.result(name, args);
    expect(result.isError, getText(result)).toBe(true);
    expect(result.structuredContent).toBeUndefined();
    return { error: result._meta?.error as ErrorBody, text: getText(result) };
  }

  /** Stores a memory and returns its id. */
  async store(memory: Record<string, unknown>): Promise<string> {
    return (await this.call<{ id: string }>('memory_store', memory)).id;
  }

  /** Closes the connection and expects that no protocol error occurred. */
  async end(): Promise<void> {
    await this.client.close();
    expect(this.faults).toEqual([]);
  }
}

/** Returns the text of a result that a model reads. */
export function getText({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Starts `memoryd mcp` on a database file and connects an agent to it over stdio. */
export function stdioAgent(dbPath: string, env: Record<string, string> = {}, revision?: Revision): Promise<Agent> {
  return commandAgent(['--db-path', dbPath], env, revision);
}

/** Starts `memoryd mcp` with these options, all tools and structured results, and connects an agent to it over stdio. */
export function commandAgent(options: string[], env: Record<string, string> = {}, revision?: Revision): Promise<Agent> {
  return connectAgent(getCommand(['mcp', '--tools', 'all', '--structured', ...options], env), revision);
}

/** Starts a command and connects an agent to it over stdio. */
export function connectAgent(
  command: Pick<StdioServerParameters, 'command' | 'args' | 'env'>,
  revision?: Revision,
): Promise<Agent> {
  return new Agent(revision).connect(new StdioClientTransport({ ...command, stderr: 'ignore' }));
}

/**
 * Connects an agent to a server on a port. `query` is the query string of the MCP URL, for example to name a user. By
 * default, the agent has all tools and structured results.
 */
export function httpAgent(
  port: number,
  headers: Record<string, string> = {},
  query = '',
  revision?: Revision,
): Promise<Agent> {
  const url = new URL(`http://127.0.0.1:${port}/mcp?tools=all&structured=true`);
  for (const [name, value] of new URLSearchParams(query)) url.searchParams.set(name, value);
  return new Agent(revision).connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
}
