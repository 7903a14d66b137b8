import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getPluginText } from './assets.ts';
import type { Capture } from './types.ts';

interface Part {
  type: string;
  text: string;
  synthetic?: boolean;
  messageID?: string;
}

interface Plugin {
  event(input: { event: { type: string; properties: object } }): Promise<void>;
  'chat.message'(input: { sessionID: string }, output: { message: { id: string }; parts: Part[] }): Promise<void>;
}

let folder: string;
let server: Server;
let bodies: Record<string, unknown>[];
let keys: (string | undefined)[];
let respond: (body: Record<string, unknown>, response: ServerResponse) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-plugin-'));
  bodies = [];
  keys = [];
  respond = ({ event }, response) => response.end(JSON.stringify({ context: `memories at ${event}` }));
  server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    bodies.push(JSON.parse(text));
    keys.push(request.headers.authorization);
    respond(JSON.parse(text), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const getLog = () => join(folder, 'log', 'hook.log');

/** Loads the plugin from a file, as OpenCode does. */
async function load({
  capture = 'prompts',
  fragment = '',
}: {
  capture?: Capture;
  fragment?: string;
} = {}): Promise<Plugin> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/opencode?user_id=ada${fragment}`;
  const path = join(folder, `memoryd-${capture}${fragment.replace('#', '-')}.mjs`);
  writeFileSync(path, getPluginText({ url, capture, keyFile: join(folder, 'key'), log: getLog() }));
  const exported = await import(pathToFileURL(path).href);
  expect(Object.keys(exported)).toEqual(['Memoryd']);
  const messages = [
    { info: { id: 'msg_1', role: 'user' }, parts: [{ type: 'text', text: 'What may Ada eat?' }] },
    { info: { id: 'msg_2', role: 'assistant', parentID: 'msg_1' }, parts: [{ type: 'text', text: 'No peanuts.' }] },
  ];
  return exported.Memoryd({ client: { session: { messages: async () => ({ data: messages }) } }, directory: folder });
}

const prompt = async (plugin: Plugin, id: string, parts: Part[]) => {
  await plugin['chat.message']({ sessionID: 'ses_1' }, { message: { id }, parts });
  return parts;
};
const text = (words: string): Part => ({ type: 'text', text: words });

describe('the OpenCode plugin', () => {
  it('adds the memories of the start of a session once, and those of each prompt, as synthetic parts', async () => {
    const plugin = await load();
    const first = await prompt(plugin, 'msg_1', [text('What may Ada eat?'), { ...text('file'), synthetic: true }]);
    const second = await prompt(plugin, 'msg_2', [text('And drink?')]);
    expect(first.slice(2)).toMatchObject([
      { type: 'text', text: 'memories at session.start', synthetic: true, messageID: 'msg_1' },
      { type: 'text', text: 'memories at chat.message', synthetic: true, messageID: 'msg_1' },
    ]);
    expect(second.slice(1)).toMatchObject([{ text: 'memories at chat.message' }]);
    const common = { session_id: 'ses_1', directory: folder };
    expect(bodies).toEqual([
      { ...common, event: 'session.start' },
      { ...common, event: 'chat.message', message_id: 'msg_1', text: 'What may Ada eat?' },
      { ...common, event: 'chat.message', message_id: 'msg_2', text: 'And drink?' },
    ]);
  });

  it('sends the key to the service of the key only', async () => {
    writeFileSync(join(folder, 'key'), 'mk_1\n');
    await prompt(await load(), 'msg_1', [text('What may Ada eat?')]);
    await prompt(await load({ fragment: '#key' }), 'msg_1', [text('What may Ada eat?')]);
    expect(keys).toEqual([undefined, undefined, 'Bearer mk_1', 'Bearer mk_1']);
  });

  it('names the parent of a session of a sub-agent', async () => {
    const plugin = await load();
    const properties = { info: { id: 'ses_1', parentID: 'ses_0' } };
    await plugin.event({ event: { type: 'session.created', properties } });
    await prompt(plugin, 'msg_1', [text('Search the files')]);
    expect(bodies.map(({ event, parent_id }) => [event, parent_id])).toEqual([
      ['session.start', 'ses_0'],
      ['chat.message', 'ses_0'],
    ]);
  });

  it('sends the answer at the end of a turn only to store turns', async () => {
    const idle = { event: { type: 'session.idle', properties: { sessionID: 'ses_1' } } };
    await (await load()).event(idle);
    expect(bodies).toEqual([]);
    await (await load({ capture: 'turns' })).event(idle);
    expect(bodies).toMatchObject([{ event: 'session.idle', message_id: 'msg_1', answer: 'No peanuts.' }]);
  });

  it('tells the service that a session was compacted', async () => {
    await (await load()).event({ event: { type: 'session.compacted', properties: { sessionID: 'ses_1' } } });
    expect(bodies).toMatchObject([{ event: 'session.compacted', session_id: 'ses_1' }]);
  });

  it('logs one line a day if the service refuses access', async () => {
    respond = (_, response) => response.writeHead(401).end('{"error":{}}');
    const plugin = await load();
    for (const id of ['msg_1', 'msg_2']) await prompt(plugin, id, [text('What may Ada eat?')]);
    expect(readFileSync(getLog(), 'utf8')).toMatch(/^\d{4}-\S+Z opencode status 401\n$/);
  });

  it.each([
    ['refuses access', (response: ServerResponse) => response.writeHead(401).end('{"error":{}}')],
    ['responds with no JSON', (response: ServerResponse) => response.end('<html>')],
    ['has nothing to give', (response: ServerResponse) => response.end('{}')],
    ['does not respond', () => {}],
    ['ends the connection', (response: ServerResponse) => response.destroy()],
  ])('adds nothing, and does not fail, if the service %s', async (_, answer) => {
    respond = (_body, response) => void answer(response);
    expect(await prompt(await load(), 'msg_1', [text('What may Ada eat?')])).toHaveLength(1);
  });
});
