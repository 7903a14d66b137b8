import type { FileImportResponse } from '@memoryd/contract';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { formatPreview, formatResult, type ReportedPreview } from './import-report.ts';

const OPTIONS = { title: 'ChatGPT export', columns: 60, utc: true } as const;

function createReportedPreview(fields: Partial<ReportedPreview> = {}): ReportedPreview {
  return {
    ...{ from: 'chatgpt', found_count: 2, session_count: 1 },
    ...{ first_at: '2024-02-01T09:30:00.000Z', last_at: '2026-11-03T18:05:00.000Z' },
    first: [{ content: 'Which apples keep until spring?', external_id: 'a', created_at: '2024-02-01T09:30:00.000Z' }],
    left_out: [],
    refused_count: 0,
    refused: [],
    ...fields,
  };
}

const createRefused = (place: string, message: string) => ({
  place,
  error: { code: 'INVALID_REQUEST' as const, message },
});

describe('the preview of an import', () => {
  it('shows counts, the period, the first texts, what is left out, users, and refused items with their places', () => {
    const preview = createReportedPreview({
      left_out: [{ reason: 'messages of other branches of a conversation', count: 12 }],
      users: ['ada', 'ben'],
      refused_count: 3,
      refused: [createRefused('conversation 3, message 7', 'the time is none')],
    });
    expect(formatPreview(preview, OPTIONS)).toBe(
      `ChatGPT export: 2 memories in 1 session, from 2024-02-01 to 2026-11-03
  2024-02-01 09:30Z  Which apples keep until spring?
  and 1 more
Left out:
  messages of other branches of a conversation: 12
Users in the file:
  ada, ben
Refused:
  conversation 3, message 7: the time is none
  and 2 more
`,
    );
  });

  it.each([
    { kind: 'long', content: 'apple '.repeat(40) },
    { kind: 'wide', content: '林檎'.repeat(40) },
    { kind: 'long without spaces', content: 'a'.repeat(200) },
    { kind: 'many-line', content: 'first line\r\nsecond line\n\nthird line which is longer than the terminal is' },
  ])('the preview of an import cuts a $kind text to the width of the terminal', ({ content }) => {
    const lines = formatPreview(createReportedPreview({ first: [{ content, external_id: 'a' }] }), OPTIONS).split('\n');
    expect(lines[1]).toMatch(/^ {2}\S.*…$/);
    expect(lines[1]).not.toContain('\\u');
    for (const line of lines.slice(1)) expect(stringWidth(line)).toBeLessThanOrEqual(OPTIONS.columns);
  });

  it('the preview of an import escapes control characters of texts, users and places', () => {
    const control = '\u001b[31mred\u202e';
    const preview = createReportedPreview({
      first: [{ content: control, external_id: 'a' }],
      users: [control],
      refused_count: 1,
      refused: [createRefused(control, control)],
    });
    const text = formatPreview(preview, OPTIONS);
    expect(text.match(/\\u\{1b\}\[31mred\\u\{202e\}/g)).toHaveLength(4);
    expect(text).not.toContain('\u001b');
  });

  it('the preview of an import without texts says that there is nothing to store', () => {
    const preview = createReportedPreview({ found_count: 0, session_count: 0, first: [] });
    expect(formatPreview(preview, OPTIONS)).toBe('ChatGPT export: nothing to store\n');
  });
});

describe('the result of an import', () => {
  const createResult = (fields: Partial<FileImportResponse>): FileImportResponse => ({
    ...createReportedPreview(),
    ...{ imported_count: 2, updated_count: 0, unchanged_count: 0 },
    ...fields,
  });

  it('shows counts, removed secrets, and the command that undoes the import', () => {
    const result = createResult({ redacted: [{ kind: 'github-token', count: 2 }] });
    expect(formatResult(result, createReportedPreview(), 'memoryd import --undo 1')).toBe(
      `imported 2, updated 0, unchanged 0, refused 0
removed secrets: 2 github-token
undo: memoryd import --undo 1
`,
    );
  });

  it('the result of an import names no undo if the import changed nothing', () => {
    const result = createResult({ imported_count: 0, unchanged_count: 2 });
    expect(formatResult(result, createReportedPreview(), 'memoryd import --undo 1')).toBe(
      'imported 0, updated 0, unchanged 2, refused 0\n',
    );
  });

  it('the result of an import lists only refused items that the preview has not listed', () => {
    const shown = createReportedPreview({ refused_count: 1, refused: [createRefused('message 1', 'broken')] });
    const refused = [...shown.refused, createRefused('text 9', 'the quota is used up')];
    const result = createResult({ imported_count: 0, refused_count: 2, refused });
    expect(formatResult(result, shown, '')).toBe(
      'imported 0, updated 0, unchanged 0, refused 2\nRefused:\n  text 9: the quota is used up\n',
    );
  });
});
