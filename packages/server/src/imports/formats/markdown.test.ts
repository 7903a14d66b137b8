import { describe, expect, it } from 'vitest';
import { markdown } from './markdown.ts';
import { readFile } from './read-format.fixture.ts';

const TRIP = `# Trip

Ada plans a week in May.

## Lisbon

The flat of [[Mara]] is free.

### Food

Ben is allergic to walnuts.
`;

const read = (text: string | Buffer, options = {}) => readFile(markdown, text, { path: 'travel/trip.md', ...options });

describe('markdown', () => {
  it('makes a memory of each section, with the heading path before its text', async () => {
    const { texts, contents, ids } = await read(TRIP);

    expect(contents).toEqual([
      'Trip\n\nAda plans a week in May.',
      'Trip > Lisbon\n\nThe flat of [[Mara]] is free.',
      'Trip > Lisbon > Food\n\nBen is allergic to walnuts.',
    ]);
    expect(ids).toEqual([
      'markdown:travel/trip.md#Trip',
      'markdown:travel/trip.md#Trip > Lisbon',
      'markdown:travel/trip.md#Trip > Lisbon > Food',
    ]);
    expect(texts[0]).toMatchObject({
      source: 'markdown',
      session_id: 'markdown:travel/trip.md',
      metadata: { path: 'travel/trip.md' },
    });
  });

  it.each([
    ['CRLF line breaks', TRIP.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\uFEFF${TRIP}`],
    ['UTF-16 with a byte order mark', Buffer.from(`\uFEFF${TRIP}`, 'utf16le')],
    ['closing marks of headings', TRIP.replace('## Lisbon', '## Lisbon ##')],
    ['an underlined heading', TRIP.replace('# Trip', 'Trip\n====')],
  ])('reads the same texts from a file with %s', async (_case, text) => {
    const { contents, ids, refused } = await read(text);

    expect({ contents, ids, refused }).toEqual({ ...pick(await read(TRIP)), refused: [] });
  });

  it.each([
    ['a block of code', '```sh\n# no heading\n\n## neither\n```'],
    ['a block of code with longer marks', '````\n```\n# no heading\n````'],
    ['a block of code in a list', '- step\n  ~~~\n# no heading\n  ~~~'],
    ['a comment', '<!-- draft\n# no heading\n-->'],
    ['a word with a mark', '#tag is no heading'],
    ['a rule below a list', '- one\n---'],
    ['a table', '| a | b |\n---'],
  ])('finds no heading in %s', async (_case, block) => {
    expect((await read(`# Title\n\n${block}\n`)).contents).toEqual([`Title\n\n${block}`]);
  });

  it.each([
    ['a YAML list', '---\ntitle: Trip notes\ntags:\n  - travel\n  - "#food"\ndate: 2026-01-31\n---\n'],
    ['YAML text', '---\ntitle: Trip notes\ntags: travel, food\ncreated: 2026-01-31\n---\n'],
    ['a field twice', '---\ntitle: Old notes\ntitle: Trip notes\ntags: [travel, food]\ndate: 2026-01-31\n---\n'],
    ['TOML', '+++\ntitle = "Trip notes"\ntags = ["travel", "food"]\ndate = 2026-01-31\n+++\n'],
    ['CRLF', '---\r\nTitle: Trip notes\r\nTags: [travel, food]\r\nDate: 2026-01-31\r\n---\r\n'],
  ])('takes title, tags and time from front matter with %s', async (_case, frontMatter) => {
    const { texts, refused } = await read(`${frontMatter}Ada likes trams.`);

    expect(refused).toEqual([]);
    expect(texts).toEqual([
      expect.objectContaining({
        content: 'Ada likes trams.',
        tags: ['travel', 'food'],
        created_at: '2026-01-31T00:00:00.000Z',
        metadata: { path: 'travel/trip.md', title: 'Trip notes' },
      }),
    ]);
  });

  it('reads a time without a zone in the given time zone', async () => {
    const { texts } = await read('---\ndate: 2026-01-31 10:00\n---\ntext', { timeZone: 'Europe/Lisbon' });

    expect(texts[0]?.created_at).toBe('2026-01-31T10:00:00.000Z');
  });

  it.each([
    ['broken YAML', '---\ntags: [a\n---\n', /front matter must be valid YAML/],
    ['broken TOML', '+++\ntitle = \n+++\n', /front matter must be valid TOML/],
    ['an unreadable date', '---\ndate: last summer\n---\n', /date must be an ISO 8601 date/],
    ['deep YAML', `---\na: ${'['.repeat(5000)}\n---\n`, /front matter must be valid YAML/],
  ])('refuses front matter with %s, and reads the text below', async (_case, frontMatter, reason) => {
    const { contents, refused } = await read(`${frontMatter}Ada likes trams.`);

    expect(contents).toEqual(['Ada likes trams.']);
    expect(refused).toEqual([{ place: 'front matter', reason: expect.stringMatching(reason) }]);
  });

  it.each([
    ['a rule at the beginning', '---\n\nAda likes trams.'],
    ['a paragraph between two rules', '---\nAda likes trams.\n---'],
  ])('reads %s as text', async (_case, text) => {
    expect((await read(text)).contents).toEqual([text]);
  });

  it('stores a heading without text, unless headings below it contain its name', async () => {
    expect((await read('# Ada\n## Ben likes figs\n## Mara\n\n# Done')).contents).toEqual([
      'Ada > Ben likes figs',
      'Ada > Mara',
      'Done',
    ]);
  });

  it('keeps the whole text of a heading that is too long for a path', async () => {
    const heading = 'Ada likes trams and figs '.repeat(20).trim();

    expect((await read(`# ${heading}\n\ntext`)).contents[0]).toContain(`\n\n${heading}\n\ntext`);
  });

  it('splits a long section at paragraphs, each part with its heading path', async () => {
    const paragraphs = Array.from({ length: 5 }, (_, index) => `${index} ${'word '.repeat(160).trim()}.`);
    const { contents, ids } = await read(`# Trip\n\n${paragraphs.join('\n\n')}`);

    expect(contents).toEqual([
      `Trip\n\n${paragraphs[0]}\n\n${paragraphs[1]}`,
      `Trip\n\n${paragraphs[2]}\n\n${paragraphs[3]}`,
      `Trip\n\n${paragraphs[4]}`,
    ]);
    expect(ids).toEqual(['Trip', 'Trip, part 2', 'Trip, part 3'].map((id) => `markdown:travel/trip.md#${id}`));
  });

  it('keeps the ids of sections when another section changes, and numbers equal heading paths', async () => {
    const before = await read('# Day\nfirst\n# Day\nsecond\n# End\nlast');
    const after = await read(`# Day\n${'longer. '.repeat(400)}\n# Day\nother\n# End\nlast`);

    expect(before.ids).toEqual(['Day', 'Day (2)', 'End'].map((id) => `markdown:travel/trip.md#${id}`));
    expect(after.ids).toEqual(expect.arrayContaining(before.ids));
  });

  it('creates different ids for all texts if headings look like numbered ids', async () => {
    const { ids } = await read(`# A (2)\nx\n# A\ny\n# A\n${'word. '.repeat(600)}\n# A, part 2\nz`);

    expect(new Set(ids).size).toBe(ids.length);
  });

  it('counts a file without text as empty', async () => {
    expect(await read('\uFEFF \n\n')).toMatchObject({ texts: [], leftOut: { empty: 1 }, refused: [] });
  });

  it('reads a truncated file to its end, and refuses the rest', async () => {
    const { contents, refused } = await read('# Trip\n\nAda likes', { isTruncated: true });

    expect(contents).toEqual(['Trip\n\nAda likes']);
    expect(refused).toEqual([{ place: 'travel/trip.md', reason: 'the entry is truncated' }]);
  });

  it('stores only the sections of a file in Latin-1 whose characters are valid UTF-8, under their usual ids', async () => {
    const note = '# Trip\n\nAda likes trams.\n\n## Caf\xe9\n\nBen reads.\n\n# Food\n\nCr\xeape\n\n# Food\n\nfigs\n';
    const { contents, ids, refused } = await read(Buffer.from(note, 'latin1'));

    expect(contents).toEqual(['Trip\n\nAda likes trams.', 'Food\n\nfigs']);
    expect((await read(note)).ids).toEqual(expect.arrayContaining(ids));
    const reason = 'some characters are not valid UTF-8, so their sections are not stored; save the file as UTF-8';
    expect(refused).toEqual([{ place: 'travel/trip.md', reason }]);
  });

  it('stores no damaged title or tag of front matter in Latin-1', async () => {
    const note = '---\ntitle: Caf\xe9\ntags: [trip, cr\xeape]\n---\nAda likes trams.\n';
    const { texts } = await read(Buffer.from(note, 'latin1'));

    expect(texts).toMatchObject([
      { content: 'Ada likes trams.', tags: ['trip'], metadata: { path: 'travel/trip.md' } },
    ]);
    expect(texts[0]?.metadata).not.toHaveProperty('title');
  });

  it('counts no empty file if all sections have characters that are not valid UTF-8', async () => {
    const { texts, refused, leftOut } = await read(Buffer.from('Caf\xe9', 'latin1'));

    expect({ texts, leftOut }).toEqual({ texts: [], leftOut: {} });
    expect(refused).toHaveLength(1);
  });

  it('stores a replacement character that the file itself has', async () => {
    expect(await read('a \uFFFD b')).toMatchObject({ contents: ['a \uFFFD b'], refused: [] });
  });

  it('refuses a file that is too large, and stores nothing of it', async () => {
    const { texts, refused } = await read('a\n'.repeat(4.5 * 1024 * 1024));

    expect(texts).toEqual([]);
    expect(refused[0]?.reason).toBe('a Markdown file must have at most 8 MiB; split it');
  });

  it.each([
    ['quotes in quotes', '>'.repeat(300_000)],
    ['one list item of many lines', `- ${'a\n'.repeat(150_000)}`],
    ['underlines', 'a\n-\n'.repeat(10_000)],
    ['marks of headings', `# ${'# '.repeat(150_000)}a`],
    ['one line without spaces', 'x'.repeat(300_000)],
    ['emoji without spaces', '🦊'.repeat(75_000)],
    ['open brackets', '['.repeat(300_000)],
    ['rules that look like front matter', '---\n'.repeat(75_000)],
  ])('reads much of %s within the time of a test', async (_case, text) => {
    const { texts } = await read(text);

    expect(texts.length).toBeGreaterThan(0);
    for (const { content } of texts) expect(content.length).toBeLessThanOrEqual(2000);
    expect(texts.every(({ content }) => !content.includes('\uFFFD'))).toBe(true);
  });

  it.each([
    ['a name that ends with .md', 'a.MD', 'anything', true],
    ['a text file with a heading first', 'a.txt', '\n# Trip\n', true],
    ['an upload with front matter', 'upload', '---\ntitle: a\n---\n', true],
    ['a text file with a sentence below a heading', 'a.txt', '# Trip\r\nAda likes trams.\r\n', true],
    ['an upload with a list below a heading', 'upload', '# Trip\n- trams\n', true],
    ['a Makefile', 'Makefile', '# build\nall:\n\tcc a.c\n', false],
    ['a Makefile with blank lines', 'Makefile', '# Build all.\n\nCC = gcc\n\nall: a.o\n\t$(CC) a.o\n', false],
    ['a list of packages', 'requirements.txt', '# for tests\npytest==9.0\n', false],
    ['a text file without a sign', 'a.txt', 'Ada likes trams.', false],
    ['a script with a comment', 'a.sh', '# install\n', false],
    ['a hidden file with a comment', 'notes/.gitignore', '# build\n', false],
    ['a binary file', 'a.md', 'PK\0\0', false],
  ])('recognizes %s: %s', (_case, path, text, isMarkdown) => {
    expect(markdown.recognizes({ path, text, isWhole: true })).toBe(isMarkdown);
  });
});

function pick({ contents, ids }: { contents: string[]; ids: string[] }) {
  return { contents, ids };
}
