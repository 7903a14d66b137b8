import { describe, expect, it } from 'vitest';
import { mcpMemory } from './mcp-memory.ts';
import { readFile } from './read-format.fixture.ts';

const ENTITY = { name: 'Ben', entityType: 'person', observations: ['is allergic to walnuts', 'cooks'] };
const RELATION = { from: 'Ben', to: 'Garden Ltd', relationType: 'works_at' };
const LINES = [
  { type: 'entity', ...ENTITY },
  { type: 'relation', ...RELATION },
];
const OTHER_SPELLING = [
  { type: 'entity', entityName: 'Ben', entityType: 'person', observations: ENTITY.observations },
  { type: 'relation', from_id: 'Ben', to_id: 'Garden Ltd', relationType: 'works_at' },
];
const toLines = (values: readonly unknown[], end = '\n') => values.map((value) => JSON.stringify(value) + end).join('');

const read = (text: string, options = {}) => readFile(mcpMemory, text, { path: 'memory.jsonl', ...options });

describe('mcp-memory', () => {
  it.each([
    ['the file of the server', toLines(LINES)],
    ['a file with the other spelling', toLines(OTHER_SPELLING)],
    ['a file with CRLF', toLines(LINES, '\r\n')],
    ['the response of read_graph', JSON.stringify({ entities: [ENTITY], relations: [RELATION] })],
    ['the indented response of read_graph', JSON.stringify({ entities: [ENTITY], relations: [RELATION] }, null, 2)],
    [
      'observations with a time',
      toLines([
        { ...LINES[0], observations: ENTITY.observations.map((content) => ({ content, timestamp: 1 })) },
        LINES[1],
      ]),
    ],
  ])('reads %s, and recognizes it', async (_case, text) => {
    const { texts, refused } = await read(text);

    expect(refused).toEqual([]);
    expect(texts).toEqual([
      {
        content: 'Ben: is allergic to walnuts',
        tags: ['person'],
        source: 'mcp-memory',
        external_id: expect.any(String),
      },
      { content: 'Ben: cooks', tags: ['person'], source: 'mcp-memory', external_id: expect.any(String) },
      { content: 'Ben works at Garden Ltd', source: 'mcp-memory', external_id: expect.any(String) },
    ]);
    expect(mcpMemory.recognizes({ path: 'a', text, isWhole: true })).toBe(true);
  });

  it('keeps the ids of observations when others are added before them', async () => {
    const { ids } = await read(toLines(LINES));
    const more = { ...LINES[0], observations: ['paints', ...ENTITY.observations], entityType: 'cook' };

    expect((await read(toLines([more, LINES[1]]))).ids.slice(1)).toEqual(ids);
    expect(new Set(ids).size).toBe(3);
  });

  it('leaves out entities and observations without text, and counts them', async () => {
    const { texts, leftOut } = await read(
      toLines([
        { type: 'entity', name: 'Ada', observations: [] },
        { type: 'entity', name: 'Mara', observations: [' ', null] },
      ]),
    );

    expect(texts).toEqual([]);
    expect(leftOut).toEqual({ empty: 3 });
  });

  it.each([
    ['broken JSON', '{"type":"entity","na', 'the line is not valid JSON'],
    ['no name', '{"type":"entity","observations":["a"]}', 'an entity must have a name'],
    ['half a relation', '{"type":"relation","from":"Ben"}', 'a relation must have from, to and relationType'],
    ['another type', '{"type":"event"}', 'type must be entity or relation'],
  ])('refuses a line with %s, and reads the others', async (_case, line, reason) => {
    const { texts, refused } = await read(`${line}\n${toLines(LINES)}`);

    expect(texts).toHaveLength(3);
    expect(refused).toEqual([{ place: 'line 1', reason }]);
  });

  it('reads the complete lines of a truncated file', async () => {
    const { texts, refused } = await read(toLines(LINES).slice(0, -10), { isTruncated: true });

    expect(texts).toHaveLength(2);
    expect(refused).toHaveLength(1);
  });
});
