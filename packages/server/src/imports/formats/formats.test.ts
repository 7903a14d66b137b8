import { describe, expect, it } from 'vitest';
import { detectFormat } from '../detect.ts';
import type { ForeignFormat } from '../format.ts';
import type { Source } from '../source.ts';
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

  it('all stand in this test', () => {
    expect(new Set(FILES.map(([name]) => name))).toEqual(new Set(FORMATS.map(({ name }) => name)));
  });
});
