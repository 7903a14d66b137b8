import type { ErrorBody } from '@memoryd/contract';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult, LoggingMessageNotification } from '@modelcontextprotocol/sdk/types.js';
import { CallToolResultSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'vitest';
import { getCommand } from './process.ts';

/** An agent's side of the Model Context Protocol: the SDK's client, for tests that expect tools to succeed. */
export class Agent {
  readonly client = new Client({ name: 'conformance', version: '1' });
  /** What did not go by the protocol, such as a line that is no message. */
  readonly faults: Error[] = [];
  /** What the server told of its log. */
  readonly log: LoggingMessageNotification['params'][] = [];

  /** Connects, and learns the tools, whose schemas the client from then on holds every result against. */
  async connect(transport: Transport): Promise<this> {
    this.client.onerror = (error) => this.faults.push(error);
    this.client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void this.log.push(params));
    await this.client.connect(transport);
    await this.client.listTools();
    return this;
  }

  /** Calls a tool, whatever comes of it. */
  async result(name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
    return CallToolResultSchema.parse(await this.client.callTool({ name, arguments: args }));
  }

  /** Calls a tool that must succeed, and answers its structured content. */
  async call<Answer>(name: string, args: Record<string, unknown> = {}): Promise<Answer> {
    const result = await this.result(name, args);
    expect(result.isError, getText(result)).toBeFalsy();
    expect(getText(result)).toMatch(/\S/);
    return result.structuredContent as Answer;
  }

  /** Calls a tool that must fail, and answers the error and what a model reads of it. */
  async failure(name: string, args: Record<string, unknown> = {}): Promise<{ error: ErrorBody; text: string }> {
    const result = await this.result(name, args);
    expect(result.isError, getText(result)).toBe(true);
    expect(result.structuredContent).toBeUndefined();
    return { error: result._meta?.error as ErrorBody, text: getText(result) };
  }

  /** Stores a memory and answers its id. */
  async store(memory: Record<string, unknown>): Promise<string> {
    return (await this.call<{ id: string }>('store', memory)).id;
  }

  /** Ends the connection; nothing may have gone against the protocol. */
  async end(): Promise<void> {
    await this.client.close();
    expect(this.faults).toEqual([]);
  }
}

/** The text that a model reads of a result. */
export function getText({ content }: CallToolResult): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** An agent with a `memoryd mcp` of its own on a database file. */
export function stdioAgent(dbPath: string, env: Record<string, string> = {}): Promise<Agent> {
  return commandAgent(['--db-path', dbPath], env);
}

/** An agent with a `memoryd mcp` of its own, started with these options. */
export function commandAgent(options: string[], env: Record<string, string> = {}): Promise<Agent> {
  return connectAgent(getCommand(['mcp', ...options], env));
}

/** An agent of whatever a command starts. */
export function connectAgent(command: Pick<StdioServerParameters, 'command' | 'args' | 'env'>): Promise<Agent> {
  return new Agent().connect(new StdioClientTransport({ ...command, stderr: 'ignore' }));
}

/** An agent of a server that listens on a port; the query of its address may name a user. */
export function httpAgent(port: number, headers: Record<string, string> = {}, query = ''): Promise<Agent> {
  const url = new URL(`http://127.0.0.1:${port}/mcp${query}`);
  return new Agent().connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as Transport);
}
