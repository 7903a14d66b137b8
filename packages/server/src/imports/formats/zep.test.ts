import { describe, expect, it } from 'vitest';
import { readFile } from './read-format.fixture.ts';
import { zep } from './zep.ts';

const EPISODE = {
  uuid: 'e1',
  content: 'I am allergic to walnuts.',
  role: 'Ben',
  role_type: 'user',
  session_id: 'dinner',
  created_at: '2026-01-31T09:30:00Z',
  metadata: { mood: 'calm' },
};
const EDGE = {
  uuid: 'f1',
  fact: 'Ben works at Garden Ltd',
  name: 'WORKS_AT',
  source_node_uuid: 'n1',
  target_node_uuid: 'n2',
  created_at: '2026-01-31T09:30:00Z',
  valid_at: '2025-01-01T00:00:00Z',
  invalid_at: '2026-01-01T00:00:00Z',
  expired_at: '2026-01-31T09:30:00Z',
  episodes: ['e1'],
};
const NODE = {
  uuid: 'n1',
  name: 'Ben',
  labels: ['Entity', 'Person'],
  summary: 'A cook in Lisbon.',
  created_at: '2026-01-31T09:30:00Z',
};

const read = (value: unknown, options = {}) =>
  readFile(zep, typeof value === 'string' ? value : JSON.stringify(value), { path: 'zep.json', ...options });

describe('zep', () => {
  it('reads episodes with speaker and session, facts with their validity, and summaries', async () => {
    const { texts, refused } = await read({ episodes: [EPISODE], edges: [EDGE], nodes: [NODE] });

    expect(refused).toEqual([]);
    expect(texts).toEqual([
      {
        content: 'I am allergic to walnuts.',
        tags: ['role:user'],
        source: 'zep',
        session_id: 'dinner',
        external_id: 'zep:e1',
        created_at: '2026-01-31T09:30:00.000Z',
        metadata: { speaker: 'Ben', mood: 'calm' },
      },
      {
        content: 'Ben works at Garden Ltd',
        source: 'zep',
        external_id: 'zep:f1',
        created_at: '2026-01-31T09:30:00.000Z',
        valid_from: '2025-01-01T00:00:00.000Z',
        valid_to: '2026-01-01T00:00:00.000Z',
        metadata: { relation: 'WORKS_AT' },
      },
      {
        content: 'Ben: A cook in Lisbon.',
        tags: ['Person'],
        source: 'zep',
        external_id: 'zep:n1',
        created_at: '2026-01-31T09:30:00.000Z',
      },
    ]);
  });

  it.each([
    [
      'a session with its user after the messages',
      { session_id: 's', messages: [{ uuid: 'm', role: 'human', content: 'Hi' }], user_id: 'ada' },
      { session_id: 's', user_id: 'ada', tags: ['role:user'] },
    ],
    [
      'sessions in a list',
      [{ session_id: 's', user_id: 'ada', messages: [{ uuid: 'm', role_type: 'assistant', content: 'Hi' }] }],
      { session_id: 's', user_id: 'ada', tags: ['role:assistant'] },
    ],
    [
      'a thread',
      { messages: [{ uuid: 'm', role: 'user', name: 'Ada', content: 'Hi' }], user_id: 'ada' },
      { user_id: 'ada', tags: ['role:user'], metadata: { speaker: 'Ada' } },
    ],
    [
      'episodes of Graphiti',
      [
        {
          uuid: 'm',
          name: 'chat',
          group_id: 'g',
          source: 'text',
          content: 'Hi',
          valid_at: '2026-01-01T00:00:00Z',
          created_at: '2026-02-01T00:00:00Z',
        },
      ],
      { created_at: '2026-01-01T00:00:00.000Z', metadata: { title: 'chat', group_id: 'g' } },
    ],
    ['JSON lines', '{"uuid":"m","role_type":"norole","content":"Hi","session_id":"s"}\n', { session_id: 's' }],
    ['results', { results: [{ uuid: 'm', role: 'ai', content: 'Hi' }] }, { tags: ['role:assistant'] }],
  ])('reads %s, and recognizes it', async (_case, value, fields) => {
    const { texts } = await read(value);

    expect(texts).toEqual([{ content: 'Hi', source: 'zep', external_id: 'zep:m', ...fields }]);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    expect(zep.recognizes({ path: 'a', text, isWhole: true })).toBe(true);
  });

  it('applies the session of a line to no other line', async () => {
    const { texts } = await read(
      '{"uuid":"1","role_type":"user","content":"a","session_id":"s","user_id":"ada"}\n{"uuid":"2","role_type":"user","content":"b"}\n',
    );

    expect(texts[1]).not.toHaveProperty('session_id');
    expect(texts[1]).not.toHaveProperty('user_id');
  });

  it.each([
    [
      'expired without an end',
      { invalid_at: null },
      { valid_from: '2025-01-01T00:00:00.000Z', valid_to: '2026-01-31T09:30:00.000Z' },
    ],
    ['without an end', { invalid_at: null, expired_at: null }, { valid_from: '2025-01-01T00:00:00.000Z' }],
    [
      'without a beginning, before it was stored',
      { valid_at: null },
      { valid_from: '2025-12-31T23:59:59.999Z', valid_to: '2026-01-01T00:00:00.000Z' },
    ],
    [
      'that ends when it begins',
      { valid_at: '2026-01-01T00:00:00Z' },
      {
        valid_from: '2025-12-31T23:59:59.999Z',
        valid_to: '2026-01-01T00:00:00.000Z',
        metadata: { relation: 'WORKS_AT', valid_at: '2026-01-01T00:00:00.000Z' },
      },
    ],
    [
      'without any time',
      { valid_at: null, created_at: null },
      { valid_from: '2025-12-31T23:59:59.999Z', valid_to: '2026-01-01T00:00:00.000Z' },
    ],
  ])('keeps the end of a fact %s', async (_case, fields, period) => {
    const { texts } = await read({ edges: [{ ...EDGE, ...fields }] });

    const { valid_from, valid_to, metadata } = texts[0] ?? {};
    expect({ valid_from, valid_to, metadata }).toEqual({
      valid_to: undefined,
      metadata: { relation: 'WORKS_AT' },
      ...period,
    });
  });

  it('leaves out edges without a fact, empty summaries, and messages of programs, and counts them', async () => {
    const { texts, leftOut } = await read({
      edges: [
        { ...EDGE, fact: null },
        { uuid: 'x', source_node_uuid: 'n1', target_node_uuid: 'e1' },
      ],
      nodes: [{ ...NODE, summary: '' }],
      messages: [
        { ...EPISODE, role_type: 'system' },
        { ...EPISODE, role_type: 'tool' },
        { ...EPISODE, role_type: 'function' },
        { ...EPISODE, deleted_at: '2026-01-01' },
      ],
    });

    expect(texts).toEqual([]);
    expect(leftOut).toEqual({ empty: 3, system: 1, tool: 2, deleted: 1 });
  });

  it('refuses broken items, and reads the others', async () => {
    const { texts, refused } = await read(
      `{"episodes":[null,{"uuid":tru},${JSON.stringify(EPISODE)}],"edges":[${JSON.stringify(EDGE)}`,
    );

    expect(texts.map(({ external_id }) => external_id)).toEqual(['zep:e1', 'zep:f1']);
    expect(refused).toHaveLength(3);
  });

  it('refuses to recognize conversations of other programs', () => {
    const text = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] });

    expect(zep.recognizes({ path: 'a', text, isWhole: true })).toBe(false);
  });
});
