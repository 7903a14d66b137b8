import { describe, expect, it } from 'vitest';
import { letta } from './letta.ts';
import { readFile } from './read-format.fixture.ts';

const at = (minute: number) => `2026-01-31T09:${minute}:00+00:00`;
const time = (minute: number) => `2026-01-31T09:${minute}:00.000Z`;
const HUMAN = { id: 'block-0', label: 'human', value: 'Ben is allergic to walnuts.', description: 'About the person' };
const AGENT = {
  id: 'agent-0',
  name: 'cook',
  agent_type: 'letta_v1_agent',
  block_ids: ['block-0'],
  messages: [
    { id: 'message-0', role: 'system', content: [{ type: 'text', text: 'You are…' }], created_at: at(10) },
    { id: 'message-1', role: 'user', content: [{ type: 'text', text: 'What is for dinner?' }], created_at: at(11) },
    {
      id: 'message-2',
      role: 'assistant',
      content: [
        { type: 'reasoning', reasoning: 'hm' },
        { type: 'text', text: 'Let me look.' },
      ],
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'search', arguments: '{}' } }],
      created_at: at(12),
    },
    { id: 'message-3', role: 'tool', content: [{ type: 'text', text: '{"status":"OK"}' }], created_at: at(13) },
    { id: 'message-4', role: 'assistant', content: 'Risotto.', tool_calls: null, created_at: at(14) },
  ],
};
const PRESENT = { agents: [AGENT], groups: [], blocks: [HUMAN], tools: [] };
const FORMER = {
  agent_type: 'memgpt_agent',
  core_memory: [{ label: 'human', value: HUMAN.value, created_at: at(10) }],
  messages: [
    { role: 'system', text: 'You are…', created_at: at(10) },
    { role: 'user', text: '{"type":"login","last_login":"never"}', created_at: at(11) },
    { role: 'user', text: '{"type":"user_message","message":"What is for dinner?","time":"now"}', created_at: at(12) },
    {
      role: 'assistant',
      text: 'He is hungry.',
      tool_calls: [{ function: { name: 'send_message', arguments: '{"message":"Risotto."}' } }],
      created_at: at(13),
    },
    { role: 'tool', text: '{"status":"OK"}', created_at: at(14) },
    { role: 'user', text: '{"type":"heartbeat","reason":"…"}', created_at: at(15) },
  ],
  name: 'cook',
  version: '0.6.47',
};

const read = (value: unknown, options = {}) =>
  readFile(letta, typeof value === 'string' ? value : JSON.stringify(value), { path: 'cook.af', ...options });

describe('letta', () => {
  it('reads blocks as notes with their label, and messages with their roles', async () => {
    const { texts, leftOut, refused } = await read(PRESENT);

    expect(refused).toEqual([]);
    expect(leftOut).toEqual({ system: 1, tool: 2 });
    const message = { source: 'letta', session_id: 'letta:cook', metadata: { agent: 'cook' } };
    expect(texts).toEqual([
      {
        ...message,
        content: 'What is for dinner?',
        tags: ['role:user'],
        created_at: time(11),
        external_id: expect.any(String),
      },
      {
        ...message,
        content: 'Let me look.',
        tags: ['role:assistant'],
        created_at: time(12),
        external_id: expect.any(String),
      },
      {
        ...message,
        content: 'Risotto.',
        tags: ['role:assistant'],
        created_at: time(14),
        external_id: expect.any(String),
      },
      {
        content: 'Ben is allergic to walnuts.',
        tags: ['human'],
        source: 'letta',
        external_id: 'letta:cook/block/human',
        metadata: { agent: 'cook', description: 'About the person' },
      },
    ]);
  });

  it('reads the former form: answers of a tool, wrapped messages, events of the program', async () => {
    const { texts, leftOut, refused } = await read(FORMER);

    expect(refused).toEqual([]);
    expect(leftOut).toEqual({ system: 3, thought: 1, tool: 1 });
    expect(texts.map(({ content, tags, created_at }) => ({ content, tags, created_at }))).toEqual([
      { content: 'Ben is allergic to walnuts.', tags: ['human'], created_at: time(10) },
      { content: 'What is for dinner?', tags: ['role:user'], created_at: time(12) },
      { content: 'Risotto.', tags: ['role:assistant'], created_at: time(13) },
    ]);
    expect(texts[0]?.external_id).toBe('letta:cook/block/human');
  });

  it('creates the same id for a message when its number in the file changes', async () => {
    const { ids } = await read(PRESENT);
    const [, ...last] = AGENT.messages.map((message, index) => ({ ...message, id: `message-${index - 1}` }));

    expect((await read({ ...PRESENT, agents: [{ ...AGENT, messages: last }] })).ids).toEqual(ids);
  });

  it('keeps the blocks of several agents apart, even with the same name and before the agents', async () => {
    const agents = [
      { ...AGENT, messages: [] },
      { ...AGENT, id: 'agent-1', block_ids: ['block-1', 'block-0'], messages: [] },
      { ...AGENT, id: 'agent-2', name: 'guide', block_ids: ['block-2'], messages: [] },
    ];
    const blocks = [HUMAN, { ...HUMAN, id: 'block-1' }, { ...HUMAN, id: 'block-2' }];

    expect((await read({ blocks, agents })).ids).toEqual([
      'letta:cook/block/human',
      'letta:cook (agent-1)/block/human',
      'letta:guide/block/human',
    ]);
  });

  it('reads archival passages and blocks inside an agent', async () => {
    const { texts } = await read({
      agents: [
        {
          ...AGENT,
          messages: null,
          memory_blocks: [{ label: 'persona', value: 'A calm cook.' }],
          passages: [{ id: 'p', text: 'Ada likes trams.', tags: ['city'], created_at: at(20) }],
        },
      ],
    });

    expect(texts.map(({ content, tags }) => ({ content, tags }))).toEqual([
      { content: 'A calm cook.', tags: ['persona'] },
      { content: 'Ada likes trams.', tags: ['city'] },
    ]);
  });

  it('keeps a message of the person that is JSON of another kind', async () => {
    const text = '{"type":"recipe","name":"Risotto"}';
    const messages = [
      { role: 'user', content: text, created_at: at(11) },
      { role: 'user', content: '{', created_at: at(12) },
    ];

    expect((await read({ agents: [{ ...AGENT, messages }] })).contents).toEqual([text, '{']);
  });

  it.each([
    [
      'empty blocks',
      {
        blocks: [
          { ...HUMAN, value: '' },
          { ...HUMAN, value: null },
        ],
      },
      { empty: 2 },
    ],
    [
      'images without text',
      { agents: [{ ...AGENT, messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }] },
      { empty: 1 },
    ],
    ['approvals', { agents: [{ ...AGENT, messages: [{ role: 'approval', content: null }] }] }, { tool: 1 }],
  ])('leaves out %s, and counts them', async (_case, value, leftOut) => {
    expect(await read(value)).toMatchObject({ texts: [], leftOut, refused: [] });
  });

  it('refuses broken items, and reads the others', async () => {
    const { texts, refused } = await read({
      agents: [{ ...AGENT, messages: [7, AGENT.messages[4]] }, 'x'],
      blocks: [null, HUMAN],
    });

    expect(texts.map(({ content }) => content)).toEqual(['Risotto.', 'Ben is allergic to walnuts.']);
    expect(refused.map(({ place }) => place)).toEqual(['agents 1, item 1', 'agents 2', 'blocks 1']);
  });

  it('reads the agents before the end of a truncated file', async () => {
    const { contents, refused } = await read(JSON.stringify(PRESENT).slice(0, -80), { isTruncated: true });

    expect(contents).toHaveLength(3);
    expect(refused).toHaveLength(1);
  });

  it.each([
    ['the present form', JSON.stringify(PRESENT, null, 2), true],
    ['the former form', JSON.stringify(FORMER), true],
    ['agents of another program', JSON.stringify({ agents: [{ name: 'a' }] }), false],
    ['a list', JSON.stringify([FORMER]), false],
  ])('recognizes %s', (_case, text, isLetta) => {
    expect(letta.recognizes({ path: 'a', text, isWhole: true })).toBe(isLetta);
  });
});
