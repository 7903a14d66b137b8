import { describe, expect, it } from 'vitest';
import { claude } from './claude.ts';
import { countTexts } from './count-texts.fixture.ts';
import { readFile } from './read-format.fixture.ts';

type Json = Record<string, unknown>;

const ROOT = '00000000-0000-4000-8000-000000000000';

/** A message as exports of 2026 have it. */
function message(uuid: string, sender: string, text: string, more: Json = {}): Json {
  const created_at = '2026-03-01T09:00:00.250000Z';
  const block = { start_timestamp: null, stop_timestamp: null, flags: null, type: 'text', text, citations: [] };
  return {
    uuid,
    text,
    content: [block],
    sender,
    created_at,
    updated_at: created_at,
    attachments: [],
    files: [],
    ...more,
  };
}

/** A conversation in which each message follows the one before it. */
function chain(messages: unknown[], more: Json = {}): Json {
  let parent = ROOT;
  const linked = messages.map((one) => {
    if (typeof one !== 'object' || one === null) return one;
    const next = { parent_message_uuid: parent, ...one };
    parent = (one as Json).uuid as string;
    return next;
  });
  return {
    uuid: 'c1',
    name: 'Garden plans',
    summary: '',
    created_at: '2026-03-01T08:59:00.000000Z',
    updated_at: '2026-03-01T09:00:00.000000Z',
    account: { uuid: 'account-1' },
    chat_messages: linked,
    ...more,
  };
}

const ASK = message('m1', 'human', 'Which roses stand shade?');
const ANSWER = message('m2', 'assistant', 'Ada, try the climbing ones.', { created_at: '2026-03-01T09:00:02.5Z' });

const read = (value: unknown, options = {}) =>
  readFile(claude, typeof value === 'string' ? value : JSON.stringify(value), options);

describe('the export of Claude', () => {
  it('reads each message with its role, time, conversation and title', async () => {
    const { texts, refused, leftOut } = await read([chain([ASK, ANSWER])]);

    expect(texts).toEqual([
      {
        content: 'Which roses stand shade?',
        external_id: 'claude:m1',
        session_id: 'claude:c1',
        source: 'claude',
        tags: ['role:user'],
        created_at: '2026-03-01T09:00:00.250Z',
        metadata: { title: 'Garden plans' },
      },
      {
        content: 'Ada, try the climbing ones.',
        external_id: 'claude:m2',
        session_id: 'claude:c1',
        source: 'claude',
        tags: ['role:assistant'],
        created_at: '2026-03-01T09:00:02.500Z',
        metadata: { title: 'Garden plans' },
      },
    ]);
    expect({ refused, leftOut }).toEqual({ refused: [], leftOut: {} });
  });

  it('reads former exports, which have a text instead of blocks, and no parents', async () => {
    const flat = [ASK, ANSWER].map(({ content: _, ...one }) => one);
    const { contents, leftOut } = await read([chain([], { chat_messages: flat, name: '' })]);

    expect(contents).toEqual(['Which roses stand shade?', 'Ada, try the climbing ones.']);
    expect(leftOut).toEqual({});
  });

  it('removes the notes about blocks from the texts of former exports, and counts them', async () => {
    const note = '```\nThis block is not supported on your current device yet.\n```';
    const one = message('m1', 'assistant', `Let me look.\n${note}\n\n\n${note}\n\nRoses.`, { content: [] });
    const { contents, leftOut } = await read([chain([one, message('m2', 'assistant', note, { content: [] })])]);

    expect(contents).toEqual(['Let me look.\n\n\n\n\n\nRoses.']);
    expect(leftOut).toEqual({ tool: 3 });
  });

  it('returns the same ids and texts when the export is read again, or is newer and longer', async () => {
    const before = await read([chain([ASK, ANSWER])]);
    const after = await read(JSON.stringify([chain([ASK, ANSWER, message('m3', 'human', 'Thanks')])], undefined, 1));

    expect(await read([chain([ASK, ANSWER])])).toEqual(before);
    expect(after.texts.slice(0, 2)).toEqual(before.texts);
  });

  it('creates the same id for a message without an id each time', async () => {
    const nameless = [ASK, ANSWER].map(({ uuid: _, ...one }) => one);
    const { ids } = await read([chain([], { chat_messages: nameless })]);

    expect(new Set(ids).size).toBe(2);
    expect((await read([chain([], { chat_messages: nameless })])).ids).toEqual(ids);
  });

  it('keeps the text blocks, and counts thoughts, tools and other blocks', async () => {
    const content = [
      { type: 'thinking', thinking: 'The person asks', summaries: [] },
      { type: 'text', text: 'I look it up.' },
      { type: 'tool_use', name: 'web_search', input: { query: 'roses' } },
      { type: 'tool_result', name: 'web_search', content: [{ type: 'text', text: 'a page' }] },
      { type: 'token_budget' },
      { type: 'voice_note', title: 'Note', text: 'Roses need sun.' },
      null,
    ];
    const one = message('m1', 'assistant', 'The person asks I look it up. Roses need sun.', { content });
    const { contents, leftOut } = await read([chain([one])]);

    expect(contents).toEqual(['I look it up.\n\nRoses need sun.']);
    expect(leftOut).toEqual({ thought: 1, tool: 2, system: 1 });
  });

  it('reads the text of an attachment as a separate text, and counts files without text', async () => {
    const attachments = [
      { file_name: 'plan.txt', file_type: 'txt', file_size: 10, extracted_content: 'Roses along the wall' },
      { file_name: '', file_size: 10, extracted_content: 'A long pasted text' },
      { file_name: 'empty.pdf', extracted_content: '' },
      null,
    ];
    const files = [{ file_uuid: 'f1', file_name: 'rose.png' }];
    const { texts, leftOut } = await read([
      chain([message('m1', 'human', '', { attachments, files, files_v2: files })]),
    ]);

    expect(texts).toMatchObject([
      {
        content: 'Roses along the wall',
        external_id: 'claude:m1/attachment/1',
        session_id: 'claude:c1',
        tags: ['role:user', 'attachment'],
        metadata: { title: 'Garden plans', file_name: 'plan.txt' },
      },
      { content: 'A long pasted text', external_id: 'claude:m1/attachment/2', metadata: { title: 'Garden plans' } },
    ]);
    expect(leftOut).toEqual({ attachment: 3 });
  });

  it.each([
    ['a message without text', 'empty', message('x', 'human', ' ', { content: [] })],
    ['a message of an unknown sender', 'role', message('x', 'system', 'x')],
    ['a message that stands there twice', 'duplicate', ANSWER],
  ])('leaves out %s as "%s"', async (_, reason, one) => {
    const { contents, leftOut } = await read([chain([ASK, ANSWER, one])]);

    expect(contents).toHaveLength(2);
    expect(leftOut).toEqual({ [reason]: 1 });
  });

  describe('branches', () => {
    const at = (second: number) => ({ created_at: `2026-03-01T09:00:0${second}Z` });
    const tree = [
      message('m1', 'human', 'Shade?', { parent_message_uuid: ROOT, ...at(1) }),
      message('m2', 'assistant', 'Climbers.', { parent_message_uuid: 'm1', ...at(2) }),
      message('m1b', 'human', 'Sun?', { parent_message_uuid: ROOT, ...at(3) }),
      message('m2b', 'assistant', 'Most.', { parent_message_uuid: 'm1b', ...at(4) }),
    ];
    const readTree = (messages: Json[], more: Json = {}) => read([chain([], { chat_messages: messages, ...more })]);

    it('leaves out and counts the branches other than the newest one', async () => {
      const { contents, leftOut } = await readTree(tree);

      expect(contents).toEqual(['Sun?', 'Most.']);
      expect(leftOut).toEqual({ branch: 2 });
    });

    it('leaves out the branches other than the one that the conversation names', async () => {
      expect((await readTree(tree, { current_leaf_message_uuid: 'm2' })).contents).toEqual(['Shade?', 'Climbers.']);
    });

    it('follows a branch in any order of the file', async () => {
      expect((await readTree([...tree].reverse())).contents).toEqual(['Sun?', 'Most.']);
    });

    it('continues a branch after a message without a parent, and after a parent that the file does not have', async () => {
      const parents = [undefined, null, 'gone', 'm2b'];
      const messages = tree.map((one, index) => ({ ...one, parent_message_uuid: parents[index] }));

      expect((await readTree(messages.slice(0, 3))).contents).toEqual(['Shade?', 'Climbers.', 'Sun?']);
    });

    it('ends a branch at a cycle of parents', async () => {
      const parents = ['m2', 'm1'];
      const messages = tree.slice(0, 2).map((one, index) => ({ ...one, parent_message_uuid: parents[index] }));

      expect((await readTree(messages)).contents).toEqual(['Shade?', 'Climbers.']);
    });
  });

  it('takes the time of the message before for a missing time, and the time of the conversation for the first', async () => {
    const times = [null, '2026-03-01T09:00:05Z', 'soon', undefined];
    const messages = times.map((created_at, index) => ({ ...message(`m${index}`, 'human', 'x'), created_at }));
    const { texts } = await read([chain(messages)]);

    expect(texts.map((text) => text.created_at)).toEqual([
      '2026-03-01T08:59:00.000Z',
      ...Array.from({ length: 3 }, () => '2026-03-01T09:00:05.000Z'),
    ]);
  });

  const PROJECT = {
    uuid: 'p1',
    name: 'Garden',
    description: 'The garden of Ada',
    is_private: true,
    is_starter_project: false,
    prompt_template: 'Answer with plant names.',
    created_at: '2026-01-02T00:00:00Z',
    updated_at: '2026-02-02T00:00:00Z',
    creator: { uuid: 'account-1', full_name: 'Ada' },
    docs: [
      { uuid: 'd1', filename: 'soil.md', content: 'Loam', created_at: '2026-01-03T00:00:00Z' },
      { uuid: 'd2', filename: 'empty.md', content: '' },
    ],
  };

  it.each([
    ['one file for all projects', [PROJECT], 'project 1'],
    ['a file for each project', PROJECT, 'projects/p1.json'],
  ])('reads the description, instructions and documents of a project from %s', async (_, value, place) => {
    const { texts, leftOut, refused } = await read(value, { path: 'projects/p1.json' });

    const shared = { source: 'claude', tags: ['project:Garden'], created_at: '2026-01-02T00:00:00.000Z' };
    const ids = { title: 'Garden', project_id: 'p1' };
    expect(texts).toEqual([
      {
        ...shared,
        content: 'The garden of Ada',
        external_id: 'claude:project/p1/description',
        metadata: { ...ids, part: 'description' },
      },
      {
        ...shared,
        content: 'Answer with plant names.',
        external_id: 'claude:project/p1/prompt_template',
        metadata: { ...ids, part: 'prompt_template' },
      },
      {
        ...shared,
        content: 'Loam',
        external_id: 'claude:project/p1/d1',
        created_at: '2026-01-03T00:00:00.000Z',
        metadata: { ...ids, file_name: 'soil.md' },
      },
    ]);
    expect({ leftOut, refused }).toEqual({ leftOut: { empty: 1 }, refused: [] });
    const broken = Array.isArray(value) ? [{ ...PROJECT, docs: [7] }] : { ...PROJECT, docs: [7] };
    expect((await read(broken, { path: 'projects/p1.json' })).refused).toEqual([
      { place: `${place}, document 1`, reason: 'a document must be an object' },
    ]);
  });

  it('leaves out the sample project of Claude', async () => {
    const { contents, leftOut } = await read([{ ...PROJECT, is_starter_project: true }]);

    expect(contents).toEqual([]);
    expect(leftOut).toEqual({ system: 1 });
  });

  const MEMORY = {
    conversations_memory: '**Work**\n\nAda runs a nursery.',
    project_memories: { p1: 'The wall faces north.' },
    account_uuid: 'account-1',
    memory_files: [{ path: '/areas/soil.md', content: 'The soil is loam.', updated_at: '2026-04-01T00:00:00Z' }],
  };

  it.each([
    ['one file for all accounts', [MEMORY]],
    ['a file for each account', MEMORY],
  ])('reads the notes about the person from %s', async (_, value) => {
    const { texts, refused } = await read(value, { path: 'memories/account-1.json' });

    expect(texts).toEqual([
      {
        content: '**Work**\n\nAda runs a nursery.',
        external_id: 'claude:memory/account-1/conversations',
        source: 'claude',
      },
      {
        content: 'The wall faces north.',
        external_id: 'claude:memory/account-1/project/p1',
        source: 'claude',
        metadata: { project_id: 'p1' },
      },
      {
        content: 'The soil is loam.',
        external_id: 'claude:memory/account-1/file//areas/soil.md',
        source: 'claude',
        created_at: '2026-04-01T00:00:00.000Z',
        metadata: { path: '/areas/soil.md' },
      },
    ]);
    expect(refused).toEqual([]);
  });

  it('reads the messages of a conversation about a design', async () => {
    const design = {
      uuid: 'design-1',
      title: 'Label',
      project: { uuid: 'x', name: 'Nursery' },
      created_at: '2026-05-01T00:00:00Z',
      messages: [
        {
          uuid: 'd1',
          role: 'user',
          created_at: '2026-05-01T00:00:01Z',
          content: { content: 'Make a label', attachments: [{ name: 'text.txt', content: 'Rose, 7 euros' }] },
        },
        {
          uuid: 'd2',
          role: 'assistant',
          content: {
            timestamp: '2026-05-01T00:00:02Z',
            content: '',
            contentBlocks: [
              { type: 'thinking', text: 'hm' },
              { type: 'tool_call', toolCall: {} },
              { type: 'user_interjection', message: { content: 'In red' } },
              { type: 'text', text: 'Done' },
            ],
          },
        },
      ],
    };
    const { texts, leftOut } = await read(design, { path: 'design_chats/design-1.json' });

    expect(texts).toMatchObject([
      { content: 'Make a label', external_id: 'claude:d1', tags: ['role:user'], metadata: { title: 'Label' } },
      { content: 'Rose, 7 euros', metadata: { title: 'Label', file_name: 'text.txt' } },
      {
        content: 'Done',
        tags: ['role:assistant'],
        created_at: '2026-05-01T00:00:02.000Z',
        session_id: 'claude:design-1',
      },
      { content: 'In red', external_id: 'claude:d2/interjection/1', tags: ['role:user'] },
    ]);
    expect(leftOut).toEqual({ thought: 1, tool: 1 });
  });

  it('refuses a broken conversation, and reads the others', async () => {
    const text = `[${JSON.stringify(chain([ASK]))},{"uuid":"x","chat_messages":[oops]},${JSON.stringify(chain([ANSWER]))}]`;
    const { ids, refused } = await read(text);

    expect(ids).toEqual(['claude:m1', 'claude:m2']);
    expect(refused).toEqual([{ place: 'item 2', reason: expect.stringContaining('must be valid JSON') }]);
  });

  it('reads the conversations before the end of a truncated file, and refuses the rest once', async () => {
    const { ids, refused } = await read(JSON.stringify([chain([ASK]), chain([ANSWER])]).slice(0, -100));

    expect(ids).toEqual(['claude:m1']);
    expect(refused).toEqual([{ place: 'item 2', reason: 'the JSON ends in the middle' }]);
  });

  it.each([
    ['null', null, 'an item must be an object'],
    [
      'an item of another kind',
      { email: 'ada@example.com' },
      'an item must be a conversation with chat_messages, a project with docs, or a memory',
    ],
    ['messages that are null', chain([], { chat_messages: null }), 'chat_messages must be an array'],
    ['messages that are an object', chain([], { chat_messages: {} }), 'chat_messages must be an array'],
    ['a message that is null', chain([null]), 'a message must be an object'],
    [
      'documents that are an object',
      { ...PROJECT, docs: {}, description: '', prompt_template: '' },
      'docs must be an array',
    ],
    [
      'a description that is a number',
      { ...PROJECT, docs: [], description: 7, prompt_template: '' },
      'the text must be a string',
    ],
    ['notes that are an array', { conversations_memory: ['Ada'] }, 'the text must be a string'],
    ['a file of notes that is null', { memory_files: [null] }, 'a file must be an object'],
  ])('refuses %s, and reads the next item', async (_, value, reason) => {
    const { ids, refused } = await read([value, chain([ASK])]);

    expect(ids).toEqual(['claude:m1']);
    expect(refused).toEqual([{ place: expect.stringMatching(/^\w+ 1/), reason }]);
  });

  it('reads what it can from values of wrong types', async () => {
    const wrong = [null, 7, 'x', [], {}, true];
    const items = wrong.flatMap((value, index) => [
      { ...chain([{ ...ASK, text: value, content: value, uuid: `a${index}` }]), uuid: value, name: value },
      { ...chain([{ ...ASK, attachments: value, files: value, uuid: value }]), created_at: value },
      { ...chain([{ ...ASK, content: [value, { type: value, text: value }], created_at: value, uuid: `b${index}` }]) },
      { ...chain([{ ...ASK, sender: value, parent_message_uuid: value }]), current_leaf_message_uuid: value },
      {
        uuid: value,
        messages: [
          { role: 'user', content: value },
          { role: value, content: { attachments: value } },
        ],
      },
      { uuid: value, name: value, created_at: value, docs: [{ uuid: value, filename: value, content: 'x' }] },
      { account_uuid: value, project_memories: value, memory_files: value },
    ]);
    const { ids, refused } = await read([...items, chain([{ ...ASK, uuid: 'last' }])]);

    expect(ids.at(-1)).toBe('claude:last');
    expect(refused).toEqual([]);
  });

  it('reads a conversation of 5,000 messages', async () => {
    const messages = Array.from({ length: 5000 }, (_, index) => message(`m${index}`, 'human', `Note ${index}`));

    expect(await countTexts(claude, JSON.stringify([chain(messages)]))).toBe(5000);
  });

  it.each([
    ['conversations.json', true, JSON.stringify([chain([ASK])])],
    ['an indented conversations.json', true, JSON.stringify([chain([ASK])], undefined, 2)],
    ['projects.json', true, JSON.stringify([PROJECT])],
    ['the file of one project', true, JSON.stringify(PROJECT)],
    ['memories.json', true, JSON.stringify([MEMORY])],
    ['the file of a design', true, '{"uuid":"x","messages":[{"role":"user","content":{"authorAccountUuid":"a"}}]}'],
    ['users.json', false, '[{"uuid":"a","full_name":"Ada","email_address":"ada@example.com"}]'],
    [
      'the manifest',
      false,
      '{"created_at":"x","data_files":[{"category":"conversations","filename":"conversations-000.zip"}]}',
    ],
    ['an export of ChatGPT', false, '[{"title":"x","mapping":{},"current_node":"a","conversation_id":"c"}]'],
    ['a text about exports', false, JSON.stringify([{ text: 'Use "chat_messages": in it' }])],
  ])('recognizes an export of Claude by its content: %s: %s', (_, expected, text) => {
    expect(claude.recognizes({ path: 'conversations.json', text, isWhole: true })).toBe(expected);
  });
});
