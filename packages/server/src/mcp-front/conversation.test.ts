import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { createTimeZone, type MemoryApi } from '@memoryd/contract';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { beforeAll, describe, expect, it } from 'vitest';
import { serveStdio } from '../mcp/stdio.ts';
import { chooseTools, MCP_TOOLS } from '../mcp/tools.ts';
import { VERSION } from '../version.ts';
import { readArguments } from './arguments.ts';
import { Conversation } from './conversation.ts';
import { prepareAnswers } from './prepare.ts';
import type { PreparedResponses } from './prepared.ts';

let prepared: PreparedResponses;
beforeAll(async () => {
  prepared = await prepareAnswers();
});

const CLIENT_INFO = { name: 'test', version: '1' };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
  'io.modelcontextprotocol/clientCapabilities': { sampling: {} },
};
const REVISIONS = [...SUPPORTED_PROTOCOL_VERSIONS, '2024-01-01', 'constructor'];
const LISTS = ['tools/list', 'prompts/list', 'resources/templates/list', 'no/such/method'];

/** A connection begins with one of these sequences of requests. */
const BEGINNINGS: [string, object[]][] = [
  ...REVISIONS.map((protocolVersion): [string, object[]] => [
    protocolVersion,
    [
      { method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: CLIENT_INFO } },
      ...['ping', ...LISTS].map((method) => ({ method })),
      { method: 'tools/list', params: { _meta: { progressToken: 7 } } },
    ],
  ]),
  ['without initialize', ['ping', ...LISTS].map((method) => ({ method, params: {} }))],
  ['2026-07-28', ['server/discover', ...LISTS].map((method) => ({ method, params: { _meta: META } }))],
  [
    '2026-07-28, and then an older one',
    [
      { method: 'server/discover', params: { _meta: META } },
      {
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO },
      },
      { method: 'tools/list' },
    ],
  ],
];

const OPTIONS = [
  [],
  ['--structured'],
  ['--tools', 'all', '--user', 'ada'],
  ['--tools=all', '--structured', '--agent=cook', '--shared'],
  ['--tools', `${MCP_TOOLS[2]?.name}, ${MCP_TOOLS[0]?.name}`],
];

/** Returns the responses of a real server to lines. */
async function askServer(args: readonly string[], lines: readonly string[]): Promise<unknown[]> {
  const given = readArguments(args, prepared.options);
  const isScoped = given?.has('--user') || given?.has('--agent');
  const [input, output] = [new PassThrough(), new PassThrough({ encoding: 'utf8' })];
  const connection = await serveStdio(
    { api: {} as MemoryApi, scope: isScoped ? 'write' : 'operate' },
    {
      version: VERSION,
      tools: chooseTools(given?.get('--tools') as string | undefined) ?? [],
      structured: given?.has('--structured') ?? false,
      maxArgumentBytes: 1024,
      maxMessageBytes: 1024,
      zone: createTimeZone('UTC'),
      onDefect: () => {},
      input,
      output,
    },
  );
  const responses: unknown[] = [];
  for (const line of lines) {
    input.write(`${line}\n`);
    responses.push(JSON.parse((await once(output, 'data'))[0]));
  }
  await connection.close();
  return responses;
}

function createConversation(args: readonly string[] = []): Conversation {
  const given = readArguments(args, prepared.options);
  const conversation = given && Conversation.create(prepared, given);
  if (!conversation) throw new Error(`no answers are prepared for ${args.join(' ')}`);
  return conversation;
}

describe('prepared answers', () => {
  describe.each(OPTIONS.map((args) => ({ args })))('with the options $args', ({ args }) => {
    it.each(BEGINNINGS)('prepared answers equal those of the server in revision %s', async (_revision, requests) => {
      const lines = requests.map((request, index) => JSON.stringify({ jsonrpc: '2.0', id: `r${index}`, ...request }));
      const conversation = createConversation(args);
      const answers = lines.map((line) => JSON.parse(conversation.answer(line) ?? 'null'));
      expect(answers).toEqual(await askServer(args, lines));
      expect(conversation.answered).toEqual(lines);
    });
  });

  it('prepared answers are those of the build', () => {
    const built = new URL('../../dist/memoryd-front.json', import.meta.url);
    expect(JSON.parse(readFileSync(built, 'utf8'))).toEqual(prepared);
  });
});

describe('a message for the server', () => {
  const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO };

  it.each([
    ['that is not JSON', '{"jsonrpc":'],
    ['that is empty', ''],
    ['that is a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'],
    ['of another JSON-RPC version', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['without an id', '{"jsonrpc":"2.0","method":"ping"}'],
    ['whose id is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}'],
    ['whose id is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}'],
    ['whose parameters are a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'],
    ['that is a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['with a cursor', '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}'],
    [
      'with an invalid progress token',
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":{}}}}',
    ],
    ['that calls a tool', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_stats"}}'],
    ['that initializes without a client', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'],
    ['that ends a handshake that never began', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
    [
      'of an unknown revision',
      JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'server/discover' },
        params: { _meta: { ...META, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' } },
      }),
    ],
    [
      'that names its revision only',
      JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'server/discover' },
        params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
      }),
    ],
  ])('a message for the server %s has no prepared answer', (_what, line) => {
    expect(createConversation().answer(line)).toBeUndefined();
  });

  it('a message for the server is a second initialize, and a message of another kind of revision', () => {
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE });
    const conversation = createConversation();
    expect(conversation.answer(initialize)).toBeDefined();
    expect(conversation.answer(initialize)).toBeUndefined();
    const discover = { jsonrpc: '2.0', id: 2, method: 'server/discover', params: { _meta: META } };
    expect(conversation.answer(JSON.stringify(discover))).toBeUndefined();
  });

  it('hands the 65th message to the server', () => {
    const conversation = createConversation();
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const answers = Array.from({ length: 65 }, () => conversation.answer(ping));
    expect(answers.map((answer) => answer !== undefined)).toEqual([...Array.from({ length: 64 }, () => true), false]);
  });
});

describe('arguments of memoryd mcp', () => {
  it.each([
    [
      ['--db-path', 'a', '--shared'],
      [
        ['--db-path', 'a'],
        ['--shared', true],
      ],
    ],
    [['--db-path=a=b', '--db-path', '--shared'], [['--db-path', '--shared']]],
    [
      ['--structured', '--user='],
      [
        ['--structured', true],
        ['--user', ''],
      ],
    ],
  ])('arguments of memoryd mcp %j are read', (args, options) => {
    expect([...(readArguments(args, prepared.options) ?? [])]).toEqual(options);
  });

  it.each([
    [['--help']],
    [['--db-path']],
    [['--shared=1']],
    [['--']],
    [['x']],
    [['--dbpath', 'x']],
    [['--constructor']],
  ])('arguments of memoryd mcp %j are left to the command line', (args) =>
    expect(readArguments(args, prepared.options)).toBeUndefined(),
  );
});
