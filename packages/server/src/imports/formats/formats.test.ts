import { describe, expect, it } from 'vitest';
import { detectFormat } from '../detect.ts';
import type { ForeignFormat } from '../format.ts';
import type { Source } from '../source/source.ts';
import { FORMATS, GENERAL_FORMATS } from './formats.ts';

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const TIME = '2026-03-05T12:00:00.000Z';
const lines = (...values: object[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

const message = {
  id: ID,
  author: { role: 'user' },
  create_time: 1_772_712_000.5,
  content: { parts: ['Which beans?'] },
};
const chat = {
  title: 'Beans',
  create_time: 1_772_712_000,
  mapping: { [ID]: { id: ID, message, parent: null, children: [] } },
};
const humanMessage = { uuid: ID, sender: 'human', text: 'Which beans?', created_at: TIME };
const claudeChat = { uuid: ID, name: 'Garden', created_at: TIME, updated_at: TIME };

/** A small file of each format in each of its forms. */
const FILES: readonly [name: ForeignFormat, form: string, content: string][] = [
  ['chatgpt', 'of 2026', JSON.stringify([{ conversation_id: ID, current_node: ID, ...chat }])],
  ['chatgpt', 'of before, on several lines', JSON.stringify([{ ...chat, id: ID }], undefined, 2)],
  ['claude', 'of 2026', JSON.stringify([{ ...claudeChat, chat_messages: [{ ...humanMessage, content: [] }] }])],
  ['claude', 'of before', JSON.stringify([{ ...claudeChat, chat_messages: [humanMessage] }], undefined, 1)],
  ['claude', 'of projects', JSON.stringify([{ ...claudeChat, prompt_template: 'Be brief.', docs: [] }])],
  ['claude', 'of memories', JSON.stringify([{ conversations_memory: 'Ada grows beans.', account_uuid: ID }])],
  [
    'claude-code',
    'of 2026',
    lines(
      { type: 'file-history-snapshot', messageId: ID, snapshot: {} },
      {
        type: 'user',
        sessionId: ID,
        uuid: ID,
        cwd: '/garden',
        timestamp: TIME,
        message: { role: 'user', content: 'Hi' },
      },
    ),
  ],
  ['claude-code', 'of before', lines({ type: 'summary', summary: 'Beans', leafUuid: ID })],
  [
    'codex',
    'of 2026',
    lines(
      { timestamp: TIME, type: 'session_meta', payload: { id: ID, cwd: '/garden' } },
      { timestamp: TIME, type: 'event_msg', payload: { type: 'user_message', message: 'Which beans?' } },
    ),
  ],
  [
    'codex',
    'of before',
    lines(
      { id: ID, timestamp: TIME, instructions: null },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Which beans?' }] },
    ),
  ],
  [
    'gemini-cli',
    'of 2026',
    lines(
      { sessionId: ID, projectHash: 'ab12', startTime: TIME, lastUpdated: TIME },
      { id: ID, timestamp: TIME, type: 'user', content: 'Which beans?' },
    ),
  ],
  [
    'gemini-cli',
    'of before',
    JSON.stringify(
      { sessionId: ID, projectHash: 'ab12', startTime: TIME, messages: [{ id: ID, type: 'user', content: 'Hi' }] },
      undefined,
      2,
    ),
  ],
  [
    'mem0',
    'of 2026',
    JSON.stringify({ results: [{ id: ID, memory: 'Ada grows beans', user_id: 'ada', categories: ['garden'] }] }),
  ],
  [
    'mem0',
    'of before',
    JSON.stringify([{ id: ID, content: 'Ada grows beans', user_id: 'ada', hash: 'ab' }], undefined, 2),
  ],
  [
    'zep',
    'of episodes',
    JSON.stringify({
      episodes: [{ uuid: ID, content: 'Which beans?', role: 'ada', session_id: 's', created_at: TIME }],
    }),
  ],
  [
    'zep',
    'of facts',
    JSON.stringify({ edges: [{ uuid: ID, fact: 'Ada grows beans', valid_at: TIME, invalid_at: null }] }),
  ],
  ['zep', 'of a list of facts', JSON.stringify([{ uuid: ID, fact: 'Ada grows beans', valid_at: TIME }], undefined, 2)],
  [
    'letta',
    'of 2026',
    JSON.stringify({
      agents: [{ id: 'agent-0', name: 'Mara', agent_type: 'letta_v1_agent', block_ids: ['block-0'], messages: [] }],
      blocks: [{ id: 'block-0', label: 'human', value: 'Ada grows beans' }],
    }),
  ],
  [
    'letta',
    'of before',
    JSON.stringify(
      {
        agent_type: 'memgpt_agent',
        core_memory: [{ label: 'human', value: 'Ada grows beans' }],
        messages: [],
        name: 'Mara',
      },
      undefined,
      2,
    ),
  ],
  [
    'mcp-memory',
    'of 2026',
    lines(
      { type: 'entity', name: 'Ada', entityType: 'person', observations: ['grows beans'] },
      { type: 'relation', from: 'Ada', to: 'Ben', relationType: 'knows' },
    ),
  ],
  [
    'mcp-memory',
    'with former names of fields',
    lines({ type: 'entity', entityName: 'Ada', entityType: 'person', observations: ['grows beans'] }),
  ],
  [
    'mcp-memory',
    'of one object',
    JSON.stringify(
      { entities: [{ name: 'Ada', entityType: 'person', observations: [] }], relations: [] },
      undefined,
      2,
    ),
  ],
  ['markdown', 'with front matter', '---\ntitle: Garden\ntags: [beans]\n---\n\nAda grows beans.\n'],
  ['markdown', 'with a heading', '# Garden\n\nAda grows beans.\n'],
  ['csv', 'with commas', 'content,created_at\n"Ada grows beans, and peas",2026-03-05\nBen reads,2026-03-06\n'],
  ['csv', 'with semicolons', 'text;user_id\r\nAda grows beans;ada\r\nBen reads;ben\r\n'],
  ['jsonl', 'of lines', lines({ content: 'Ada grows beans', created_at: TIME }, { content: 'Ben reads' })],
  ['jsonl', 'of an array', JSON.stringify([{ text: 'Ada grows beans' }], undefined, 2)],
];

function createSource(content: Uint8Array | string): Source {
  const bytes = Buffer.from(content as Uint8Array);
  const open = async function* () {
    yield bytes;
  };
  const files = [{ path: 'download', sizeBytes: bytes.length, open }];
  return { name: 'download', contentKey: '', files, refused: [], close: async () => {} };
}

describe('the formats', () => {
  it.each(FILES)('recognize %s %s by the content alone', async (name, _, content) => {
    const { format, otherFiles } = await detectFormat(createSource(content));
    expect(format).toMatchObject({ name });
    expect(otherFiles).toBe(0);
  });

  it.each(FILES)('recognize %s %s in no second format with fields of its own', (name, _, content) => {
    const head = { path: 'download', text: content, isWhole: true };
    const recognizing = FORMATS.filter((format) => format.recognizes(head)).map((format) => format.name);
    expect(recognizing.filter((other) => !GENERAL_FORMATS.has(other) || other === name)).toEqual([name]);
  });

  it.each<[string, (content: string) => string | Uint8Array]>([
    ['a byte order mark', (content) => `\uFEFF${content}`],
    ['Windows line breaks', (content) => content.replace(/\r?\n/g, '\r\n')],
    ['UTF-16', (content) => Buffer.from(`\uFEFF${content}`, 'utf16le')],
  ])('recognize files with %s', async (_, change) => {
    const detected = FILES.map(async ([name, form, content]) => {
      const { format } = await detectFormat(createSource(change(content)));
      return [format === 'memoryd' ? format : format.name, form, name];
    });
    expect(await Promise.all(detected)).toEqual(FILES.map(([name, form]) => [name, form, name]));
  });

  it.each(FILES)('recognize %s %s by the beginning of a long file', async (name, _, content) => {
    const { format } = await detectFormat(createSource(content.padEnd(70_000, ' ')));
    expect(format).toMatchObject({ name });
  });

  it.each<[string, string]>([
    ['users of a Claude export', JSON.stringify([{ uuid: ID, full_name: 'Ada', email_address: 'ada@example.com' }])],
    ['shared conversations of ChatGPT', JSON.stringify([{ id: ID, conversation_id: ID, title: 'Beans' }])],
    ['feedback of ChatGPT', JSON.stringify([{ id: ID, conversation_id: ID, user_id: 'ada', rating: 'thumbs_up' }])],
    ['a manifest', JSON.stringify({ version: 1, export_files: [{ path: 'conversations-000.json', size_bytes: 5 }] })],
    ['a package', JSON.stringify({ name: 'garden', version: '1.0.0', type: 'module', dependencies: {} }, undefined, 2)],
    ['a log', lines({ level: 30, time: 1, pid: 2, msg: 'started' }, { level: 30, time: 2, pid: 2, msg: 'stopped' })],
    ['events', lines({ type: 'message', id: ID, created_at: TIME }, { type: 'user', id: ID })],
    [
      'a map',
      JSON.stringify({ type: 'FeatureCollection', features: [{ type: 'Feature', properties: { name: 'Bed' } }] }),
    ],
    ['settings', JSON.stringify({ agents: [{ name: 'Mara' }], messages: [], mapping: 'none' })],
    ['numbers', '[1, 2, 3]'],
    ['prose', 'Ada grows beans, and Ben reads.\nMara listens, and all are well.\n'],
    ['HTML', '<!doctype html>\n<title>Garden</title>\n'],
  ])('recognize neither other JSON nor other text: %s', async (_, content) => {
    const head = { path: 'download', text: content, isWhole: true };
    const recognizing = FORMATS.filter(({ recognizes }) => recognizes(head)).map(({ name }) => name);
    expect(recognizing).toEqual([]);
    await expect(detectFormat(createSource(content))).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it.each(FILES.filter(([name]) => name !== 'csv'))(
    'recognize the file around a text with a file of another format: %s %s',
    async (_, __, content) => {
      const line = { type: 'user', sessionId: ID, timestamp: TIME, message: { role: 'user', content } };
      const humanMessages = [{ ...humanMessage, text: content }];
      const files: [ForeignFormat, string][] = [
        ['claude-code', lines(line)],
        ['claude', JSON.stringify([{ ...claudeChat, chat_messages: humanMessages }])],
        ['mem0', JSON.stringify({ results: [{ id: ID, memory: content, user_id: 'ada' }] })],
        ['jsonl', lines({ content })],
        [
          'csv',
          `content,created_at\n"${content.replaceAll('"', '""').replaceAll(/\r?\n/g, ' ')}",${TIME}\nBen reads,${TIME}\n`,
        ],
        ['markdown', `# Garden\n\n\`\`\`json\n${content}\n\`\`\`\n`],
      ];
      for (const [name, around] of files) {
        expect((await detectFormat(createSource(around))).format).toMatchObject({ name });
      }
    },
  );

  it('all have a file in this test', () => {
    expect(new Set(FILES.map(([name]) => name))).toEqual(new Set(FORMATS.map(({ name }) => name)));
  });
});
