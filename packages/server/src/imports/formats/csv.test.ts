import { describe, expect, it } from 'vitest';
import { csv } from './csv.ts';
import { readFile } from './read-format.fixture.ts';

const ROWS =
  'text,date,tags\nAda likes trams.,2026-01-31,travel;city\n"Ben, who cooks, is allergic to walnuts.",2026-02-01,\n';

const read = (text: string | Buffer, options = {}) => readFile(csv, text, { path: 'notes.csv', ...options });

describe('csv', () => {
  it('reads the rows of a table by the usual names of its columns', async () => {
    const { texts, refused } = await read(ROWS);

    expect(refused).toEqual([]);
    expect(texts).toEqual([
      {
        content: 'Ada likes trams.',
        tags: ['travel', 'city'],
        source: 'csv',
        external_id: expect.stringMatching(/^csv:/),
        created_at: '2026-01-31T00:00:00.000Z',
      },
      {
        content: 'Ben, who cooks, is allergic to walnuts.',
        source: 'csv',
        external_id: expect.stringMatching(/^csv:/),
        created_at: '2026-02-01T00:00:00.000Z',
      },
    ]);
  });

  it.each([
    ['CRLF line breaks', ROWS.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${ROWS}`],
    ['UTF-16 as Excel writes it', Buffer.from(`\uFEFF${ROWS}`, 'utf16le')],
    [
      'semicolons',
      'text;date;tags\nAda likes trams.;2026-01-31;travel,city\nBen, who cooks, is allergic to walnuts.;2026-02-01;\n',
    ],
    [
      'tabs',
      'text\tdate\ttags\nAda likes trams.\t2026-01-31\ttravel|city\nBen, who cooks, is allergic to walnuts.\t2026-02-01\t',
    ],
    ['a line that names the delimiter', `sep=,\r\n${ROWS}`],
    ['names in quotes and other letters', ROWS.replace('text,date,tags', '"Text", "DATE" ,Tags')],
    ['blank lines and empty cells at the end', ROWS.replace('city\n', 'city,,\n\n\n')],
  ])('reads the same texts from a table with %s', async (_case, text) => {
    const plain = await read(ROWS);
    const { texts, refused } = await read(text);

    expect(refused).toEqual([]);
    expect(texts.map(({ content, tags, created_at }) => ({ content, tags, created_at }))).toEqual(
      plain.texts.map(({ content, tags, created_at }) => ({ content, tags, created_at })),
    );
  });

  it('takes the columns that the map names for every field of a memory', async () => {
    const { texts } = await read(
      'k,body,what,weight,app,talk,who,bot,at,until,begin,end,speaker,head\n' +
        'a-1,not this,Ada likes trams.,0.7,diary,t1,ada,helper,1769850000,2027-01-01,2026-01-01,2026-12-31,Human,Trams\n',
      {
        map: {
          external_id: 'k',
          content: 'what',
          importance: 'weight',
          source: 'app',
          session_id: 'talk',
          user_id: 'who',
          agent_id: 'bot',
          created_at: 'at',
          expires_at: 'until',
          valid_from: 'begin',
          valid_to: 'end',
          role: 'speaker',
          title: 'head',
        },
      },
    );

    expect(texts).toEqual([
      {
        content: 'Ada likes trams.',
        tags: ['role:user'],
        importance: 0.7,
        source: 'diary',
        session_id: 't1',
        user_id: 'ada',
        agent_id: 'helper',
        external_id: 'csv:notes.csv#a-1',
        created_at: '2026-01-31T09:00:00.000Z',
        expires_at: '2027-01-01T00:00:00.000Z',
        valid_from: '2026-01-01T00:00:00.000Z',
        valid_to: '2026-12-31T00:00:00.000Z',
        metadata: { title: 'Trams' },
      },
    ]);
  });

  it('puts the other columns into metadata on request only', async () => {
    const table = 'text,mood,room,\nAda likes trams.,happy,,7\n';

    expect((await read(table)).texts[0]?.metadata).toBeUndefined();
    expect((await read(table, { restToMetadata: true })).texts[0]?.metadata).toEqual({ mood: 'happy' });
  });

  it.each([
    ['an id column', 'id,text\n7,a b\n', 'csv:notes.csv#7'],
    [
      'an id that is unique everywhere',
      'id,text\n0b6f5f2a-5d0f-4f0e-9a6b-1f2e3d4c5b6a,a b\n',
      'csv:0b6f5f2a-5d0f-4f0e-9a6b-1f2e3d4c5b6a',
    ],
    ['an external id, as it is', 'external_id,text\nmem-7,a b\n', 'mem-7'],
  ])('creates the external id from %s', async (_case, table, id) => {
    expect((await read(table)).ids).toEqual([id]);
  });

  it('creates different external ids for texts with the same id, the same in every import of the file', async () => {
    const table = 'id,text\n7,one\n7,two\n7,one\n7,three\n';
    const { ids } = await read(table);

    expect(ids[0]).toBe('csv:notes.csv#7');
    expect(ids[2]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
    expect((await read(table)).ids).toEqual(ids);
  });

  it('creates the same external id for a row without an id in another file with other rows', async () => {
    const { ids } = await read(ROWS);
    const again = await read(`${ROWS.replace('\n', '\nMara paints.,2025-01-01,\n')}`, { path: 'copy.csv' });

    expect(again.ids.slice(1)).toEqual(ids);
  });

  it('reads a time that ends with UTC, as databases write it, in any time zone', async () => {
    const { texts } = await read('text,date\na b,2026-07-01 10:00:00 UTC\n', { timeZone: 'Europe/Berlin' });

    expect(texts[0]?.created_at).toBe('2026-07-01T10:00:00.000Z');
  });

  it('reads times without a zone in the given time zone', async () => {
    const { texts } = await read('text,date\na b,2026-07-01 10:00\n', { timeZone: 'Europe/Berlin' });

    expect(texts[0]?.created_at).toBe('2026-07-01T08:00:00.000Z');
  });

  it.each([
    [
      'a time that is not ISO 8601',
      'text,date\na,03/04/2026\nlast,2026-01-01',
      /^column "date" must be an ISO 8601 date .* not "03\/04\/2026"$/,
    ],
    [
      'an importance above 1',
      'text,importance\na,7\nlast,1',
      /^column "importance" must be a number from 0 to 1, not "7"$/,
    ],
    [
      'an end before the beginning',
      'text,valid_from,valid_to\na,2026-02-01,2026-01-01\nlast,2026-01-01,',
      /^column "valid_to" must be later than valid_from, not "2026-01-01"$/,
    ],
    [
      'too few cells',
      'text,date\na\nlast,2026-01-01',
      /^the row has 1 cells, and the header 2; put text that contains the delimiter in quotes$/,
    ],
    [
      'text after a closing quote',
      'text,date\n"a" b,2026-01-01\nlast,2026-01-01',
      /^cell 1 goes on after its closing quote; write a quote in a cell as ""$/,
    ],
    ['an open quote', 'text,date\na,"2026\nlast,2026-01-01', /^a quote is not closed$/],
  ])('refuses a row with %s, and reads the row after it', async (_case, table, reason) => {
    const { contents, refused } = await read(table);

    expect(refused).toEqual([{ place: 'line 2', reason: expect.stringMatching(reason) }]);
    expect(contents).toEqual(['last']);
  });

  it('keeps line breaks and quotes of a cell in quotes, and counts the lines of the file', async () => {
    const { contents, refused } = await read('text,n\n"one ""two""\n\nthree",1\nbroken\nlast,2\n');

    expect(contents).toEqual(['one "two"\n\nthree', 'last']);
    expect(refused[0]?.place).toBe('line 5');
  });

  it('refuses lines that are not UTF-8, and reads the others', async () => {
    const { contents, refused } = await read(Buffer.from('text,n\ncaf\xe9,1\ntea,2\n', 'latin1'));

    expect(contents).toEqual(['tea']);
    expect(refused).toEqual([{ place: 'line 2', reason: 'the line is not valid UTF-8' }]);
  });

  it('reads the complete rows of a truncated file, and refuses the rest', async () => {
    const { contents, refused } = await read('text,n\none,1\ntwo,2\nthr', { isTruncated: true });

    expect(contents).toEqual(['one', 'two']);
    expect(refused).toEqual([{ place: 'line 4', reason: 'the entry is truncated' }]);
  });

  it.each([
    [
      'no column for the text',
      'nr,entry\n1,a\n2,b\n',
      {},
      'no column is known to hold the text (columns: "nr", "entry"); map one, as in content=COLUMN',
    ],
    [
      'a map to a missing column',
      'text,date\na,2026-01-01\n',
      { content: 'entry' },
      'map must name columns of the file ("text", "date"), not "entry"',
    ],
  ])('refuses a table with %s once, and reads nothing', async (_case, table, map, reason) => {
    const { texts, refused } = await read(table, { map });

    expect(texts).toEqual([]);
    expect(refused).toEqual([{ place: 'line 1', reason }]);
  });

  it('throws for a map of a field that memories do not have', async () => {
    await expect(read(ROWS, { map: { mood: 'text' } })).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringMatching(/map must name fields of a memory \(content, .*\), not "mood"/),
    });
  });

  it('counts rows without text as empty', async () => {
    expect(await read('text,n\n,1\n" ",2\n')).toMatchObject({ texts: [], leftOut: { empty: 2 }, refused: [] });
  });

  it('reads a table in which every row has an open quote within the time of a test', async () => {
    const { refused } = await read(`text,n\n${'a,"b ""c\n'.repeat(20_000)}`);

    expect(refused.length).toBeGreaterThan(8000);
  });

  it('leaves out values that are too large for metadata', async () => {
    const { texts } = await read(`text,big,small\na,${'x'.repeat(20_000)},y\n`, { restToMetadata: true });

    expect(texts[0]?.metadata).toEqual({ small: 'y' });
  });

  it.each([
    ['a table', 'upload', ROWS, true],
    ['a table by its name', 'a.csv', 'Nr.;Was war?\n1;b\n', true],
    ['one column with a usual name', 'a.csv', 'content\nb\n', true],
    ['JSON lines', 'a.csv', '{"a":1,"b":2}\n{"a":1,"b":2}\n', false],
    ['prose with commas', 'a.txt', 'Hello Ada, how are you\nFine, thanks\n', false],
    ['plain text', 'a.txt', 'Hello\nFine\n', false],
    ['a program', 'a.js', "import { a, b } from 'c';\nconst d = [1, 2];\n", false],
    ['an empty file', 'a.csv', '', false],
  ])('recognizes %s in %s', (_case, path, text, isCsv) => {
    expect(csv.recognizes({ path, text, isWhole: true })).toBe(isCsv);
  });
});
