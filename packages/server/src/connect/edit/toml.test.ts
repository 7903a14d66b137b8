import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { applyEdit, undoEntries } from './edit.ts';

const URL_TEXT = 'http://127.0.0.1:8090/mcp?user_id=ada';
const edit = (text: string | undefined) =>
  applyEdit(text, { kind: 'toml', path: 'config.toml', table: ['mcp_servers', 'memoryd'], values: { url: URL_TEXT } });

const PIECES = [
  'model = "gpt-5" # the model',
  '# a comment with [brackets] and "quotes"',
  '',
  "path = 'C:\\\\x'",
  'n = 0x1f',
  'day = 2026-11-28T01:02:03Z',
  'list = [\n  1, # one\n  2,\n]',
  'text = """\n[mcp_servers.memoryd]\nurl = "in a text"\n"""',
  '[mcp_servers.other]\ncommand = "other"',
  '[mcp_servers]',
  '[[hooks.Stop]]\nmatcher = ""',
  '[projects."/home/ada/a b"]\ntrust_level = "trusted"',
  'inline = { a = 1, b = { c = "d" } }',
];

/** Texts of TOML files: valid ones of the pieces in any order, with any line ends and any end of the file. */
const document = fc
  .tuple(
    fc.shuffledSubarray(PIECES),
    fc.constantFrom('\n', '\r\n'),
    fc.constantFrom('', '\n', '\n\n\n', ' # end', '\n# end'),
  )
  .map(([pieces, lineEnd, end]) => (pieces.join('\n') + end).replaceAll('\n', lineEnd))
  .filter(isValid);

function isValid(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('a change of a TOML file', () => {
  it('restores every byte when it is undone', () => {
    fc.assert(
      fc.property(document, (text) => {
        const { text: edited = '', undo } = edit(text);
        expect(undoEntries(edited, undo)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it('adds the table, keeps every byte before it, and changes no other value', () => {
    fc.assert(
      fc.property(document, (text) => {
        const { text: edited = '' } = edit(text);
        expect(edited.startsWith(text)).toBe(true);
        const { mcp_servers: servers, ...others } = parse(edited);
        const { mcp_servers: before = {}, ...othersBefore } = parse(text);
        expect(servers).toEqual({ ...(before as object), memoryd: { url: URL_TEXT } });
        expect(others).toEqual(othersBefore);
      }),
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(document, (text) => {
        const { text: edited } = edit(text);
        expect(edit(edited)).toMatchObject({ text: edited, undo: [] });
      }),
    );
  });

  it('keeps what the program and the person write between connect and remove', () => {
    const before = 'model = "gpt-5"\n';
    const { text = '', undo } = edit(before);
    const changed = `${text.replace('url = ', 'enabled = true\nurl = ')}\n# my project\n[projects."/p"]\ntrust_level = "trusted"\n`;
    const changedInside = `${changed}[mcp_servers.memoryd.tools.recall]\napproval_mode = "approve"\n`;
    expect(undoEntries(changedInside, undo)).toBe(
      `${before}\n\n# my project\n[projects."/p"]\ntrust_level = "trusted"\n`,
    );
  });

  it('leaves a table of someone else with the same name', () => {
    const text = '[mcp_servers.memoryd]\ncommand = "memoryd"\n';
    expect(edit(text)).toMatchObject({ text, undo: [], notes: [expect.stringContaining('connect did not write')] });
  });

  it.each([
    ['a = 1\nb = = 2\n', /line 2 is not valid TOML/],
    ['mcp_servers = { other = { command = "x" } }\n', /cannot have a table \[mcp_servers.memoryd\]/],
  ])('refuses %j', (text, message) => {
    expect(() => edit(text)).toThrow(message);
  });
});
