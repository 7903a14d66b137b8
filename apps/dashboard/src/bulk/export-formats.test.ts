import type { Memory } from '@memoryd/client';
import { describe, expect, it } from 'vitest';
import { EXPORT_FORMATS, type ExportFormat } from './export-formats.ts';

const MEMORY: Memory = {
  id: 'm1',
  content: 'Ada plays the piano',
  revision: 1,
  tags: ['music', 'home, sweet'],
  importance: 0.5,
  source: 'api',
  session_id: 'kitchen',
  tier: 'working',
  metadata: { room: 'den' },
  created_at: '2026-03-12T14:05:00.000Z',
  updated_at: '2026-03-12T14:05:00.000Z',
  expires_at: null,
  valid_from: null,
  valid_to: null,
  supersedes: null,
  superseded_by: null,
  merged_into: null,
  derived_from: [],
  access_count: 2,
  accessed_at: null,
  retention: 1,
  version: 1,
};

const getFormat = (extension: string): ExportFormat => {
  const format = EXPORT_FORMATS.find((one) => one.extension === extension);
  if (!format) throw new Error(`no format ${extension}`);
  return format;
};

describe('export as CSV', () => {
  const { begin, format } = getFormat('csv');
  const formatText = (content: string) => format({ ...MEMORY, content, tags: [], metadata: {} });

  it('writes a row for each memory below the names of the columns', () => {
    expect(begin('1 memory')).toBe(
      '\uFEFFid,content,tags,importance,source,session_id,user_id,agent_id,external_id,tier,created_at,updated_at,valid_from,valid_to,expires_at,access_count,metadata\r\n',
    );
    expect(format({ ...MEMORY, user_id: 'ada' })).toBe(
      'm1,Ada plays the piano,"music, ""home, sweet""",0.5,api,kitchen,ada,,,working,2026-03-12T14:05:00.000Z,2026-03-12T14:05:00.000Z,,,,2,"{""room"":""den""}"\r\n',
    );
  });

  it.each([
    ['a "quoted" word', '"a ""quoted"" word"'],
    ['one, two', '"one, two"'],
    ['two\nlines', '"two\nlines"'],
    ['two\r\nlines', '"two\r\nlines"'],
    [' a space before', '" a space before"'],
  ])('quotes %j', (text, cell) => {
    expect(formatText(text)).toContain(`m1,${cell},,0.5`);
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1', '|cmd', '＝1', '%0A=1'])(
    'writes %j as a text, which no spreadsheet calculates',
    (text) => {
      expect(formatText(text)).toMatch(/^m1,"?'/);
    },
  );

  it('leaves a text as it is that only contains a formula sign', () => {
    expect(formatText('1 + 1 = 2')).toContain('m1,1 + 1 = 2,,');
  });
});

describe('export as JSON lines', () => {
  it('writes the whole memory in a line', () => {
    const { begin, format } = getFormat('jsonl');
    const line = format({ ...MEMORY, content: 'two\nlines' });
    expect(begin('1 memory')).toBe('');
    expect(line.endsWith('\n')).toBe(true);
    expect(line.trimEnd()).not.toContain('\n');
    expect(JSON.parse(line)).toEqual({ ...MEMORY, content: 'two\nlines' });
  });
});

describe('export as Markdown', () => {
  const { begin, format } = getFormat('md');
  const formatText = (content: string) =>
    format({ ...MEMORY, content })
      .split('\n\n')
      .slice(1, -1)
      .join('\n\n');

  it('writes the text below its date, and the facts after it', () => {
    expect(begin('2 memories')).toBe('# 2 memories\n');
    expect(format(MEMORY)).toMatch(
      /^\n## 12 Mar 2026, \d\d:05\n\nAda plays the piano\n\n- Tags: music, home, sweet\n- Session: kitchen\n- Source: api\n- Importance: 0.5\n- Id: m1\n$/,
    );
  });

  it.each([
    ['# no heading', '\\# no heading'],
    ['- no list', '\\- no list'],
    ['1. no list', '1\\. no list'],
    ['> no quote', '\\> no quote'],
    ['===', '\\==='],
    ['    no code', 'no code'],
    ['*no* _emphasis_ `no code`', '\\*no\\* \\_emphasis\\_ \\`no code\\`'],
    ['<script>', '\\<script\\>'],
    ['[no](link) ![no](image)', '\\[no\\](link) \\!\\[no\\](image)'],
    ['a | b', 'a \\| b'],
    ['&lt;', '\\&lt;'],
    ['back\\slash', 'back\\\\slash'],
    ['two\nlines', 'two\\\nlines'],
    ['two\n\n  paragraphs', 'two\n\nparagraphs'],
  ])('shows %j as it is', (text, markdown) => {
    expect(formatText(text)).toBe(markdown);
  });

  it('lets no tag begin a line of its own', () => {
    expect(format({ ...MEMORY, tags: ['a\n# heading'] })).toContain('- Tags: a \\# heading\n');
  });
});
