import { describe, expect, it } from 'vitest';
import { jsonl } from './jsonl.ts';
import { readFile } from './read-format.fixture.ts';

const ITEMS = [
  { text: 'Ada likes trams.', timestamp: 1769850000, tags: ['city'] },
  { text: 'Ben is allergic to walnuts.', timestamp: '2026-02-01T10:00:00Z', tags: null },
];
const LINES = ITEMS.map((item) => JSON.stringify(item)).join('\n');

const read = (text: string | Buffer, options = {}) => readFile(jsonl, text, { path: 'notes.jsonl', ...options });

describe('jsonl', () => {
  it.each([
    ['lines', `${LINES}\n`],
    ['lines with CRLF and a byte order mark', `\uFEFF${LINES.replace('\n', '\r\n\r\n')}`],
    ['lines in UTF-16, as PowerShell writes them', Buffer.from(`\uFEFF${LINES}`, 'utf16le')],
    ['an array', JSON.stringify(ITEMS, null, 2)],
  ])('reads the objects of %s', async (_case, text) => {
    const { texts, refused } = await read(text);

    expect(refused).toEqual([]);
    expect(texts).toEqual([
      {
        content: 'Ada likes trams.',
        tags: ['city'],
        source: 'jsonl',
        external_id: expect.stringMatching(/^jsonl:/),
        created_at: '2026-01-31T09:00:00.000Z',
      },
      {
        content: 'Ben is allergic to walnuts.',
        source: 'jsonl',
        external_id: expect.stringMatching(/^jsonl:/),
        created_at: '2026-02-01T10:00:00.000Z',
      },
    ]);
  });

  it('reads memories with the fields of the interface without a map', async () => {
    const memory = {
      content: 'Ada likes trams.',
      tags: ['city', 'role:user'],
      importance: 0.9,
      source: 'diary',
      session_id: 's',
      user_id: 'ada',
      external_id: 'd-1',
      created_at: '2026-01-31T09:00:00.000Z',
      valid_to: '2027-01-31T09:00:00.000Z',
      metadata: { room: 1, deep: { list: [true, null] } },
    };

    expect((await read(JSON.stringify(memory))).texts).toEqual([memory]);
  });

  it('reads nested values through paths, and the rest as metadata on request', async () => {
    const item = { 'a.b': 'Ada.', message: { text: 'trams', parts: [{ at: 1769850000 }] }, mood: 'happy' };
    const map = { content: 'message.text', created_at: 'message.parts.0.at', title: 'a.b' };

    expect((await read(JSON.stringify(item), { map, restToMetadata: true })).texts[0]).toMatchObject({
      content: 'trams',
      created_at: '2026-01-31T09:00:00.000Z',
      metadata: { title: 'Ada.', mood: 'happy' },
    });
  });

  it.each([
    ['broken JSON', '{"text": "a', 'the line is not valid JSON'],
    [
      'deep values',
      `{"text":"a","b":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
      'the item must have at most 1000 levels of objects and arrays',
    ],
    ['no object', '"a"', 'the item must be a JSON object'],
    ['no text', '{"a":1}', 'no field is known to hold the text (fields: "a"); map one, as in content=FIELD'],
    ['an object as text', '{"text":{"a":1}}', 'field "text" must be a text, not "{"a":1}"'],
    ['an unreadable time', '{"text":"a","date":"soon"}', /^field "date" must be an ISO 8601 date .*, not "soon"$/],
  ])('refuses a line with %s, and reads the next', async (_case, line, reason) => {
    const { contents, refused } = await read(`${line}\n${LINES}`);

    expect(contents).toHaveLength(2);
    expect(refused).toEqual([
      {
        place: 'line 1',
        reason: typeof reason === 'string' ? reason : expect.stringMatching(reason),
      },
    ]);
  });

  it('reads the complete objects of a truncated array, and refuses the rest', async () => {
    const { contents, refused } = await read(JSON.stringify(ITEMS).slice(0, -20));

    expect(contents).toEqual(['Ada likes trams.']);
    expect(refused).toHaveLength(1);
  });

  it('refuses a path of the map that no line has', async () => {
    const { contents, refused } = await read(LINES, { map: { title: 'head.line' } });

    expect(contents).toHaveLength(2);
    expect(refused).toEqual([
      {
        place: 'notes.jsonl',
        reason: 'map must name fields of the file ("text", "timestamp", "tags"), not "head.line"',
      },
    ]);
  });

  it.each([
    ['that do not match', `{${'[{]]'.repeat(200_000)}`],
    ['that open and close in a deep place', `${'['.repeat(400_000)}${'[]'.repeat(200_000)}`],
  ])('reads much of brackets %s within the time of a test', async (_case, text) => {
    const { texts, refused } = await read(text);

    expect(texts).toEqual([]);
    expect(refused).toHaveLength(1);
    expect(jsonl.recognizes({ path: 'a', text, isWhole: true })).toBe(false);
  });

  it('removes characters that cannot be stored, and cuts what is too long', async () => {
    const { texts } = await read(
      JSON.stringify({
        text: 'a\0b\uD800',
        tags: ['x'.repeat(200), ' ', 'x'.repeat(200)],
        session_id: 's'.repeat(300),
      }),
    );

    expect(texts[0]).toMatchObject({ content: 'ab\uFFFD', tags: ['x'.repeat(128)] });
  });

  it.each([
    ['lines', LINES, true],
    ['an array', JSON.stringify(ITEMS, null, 2), true],
    ['lines without a text', '{"a":1}\n', false],
    ['a list in an object', '{"entries":[{"text":"a"}]}', false],
    ['plain text', 'Ada likes {trams}.', false],
  ])('recognizes %s', (_case, text, isJsonl) => {
    expect(jsonl.recognizes({ path: 'a', text, isWhole: true })).toBe(isJsonl);
  });
});
