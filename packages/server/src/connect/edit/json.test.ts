import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import type { JsonEntry, JsonValue } from '../types.ts';
import { applyEdit, undoEntries } from './edit.ts';
import { addJsonEntry } from './json.ts';

const SERVER: JsonEntry = {
  path: ['mcpServers', 'memoryd'],
  value: { type: 'http', url: 'http://127.0.0.1:8090/mcp' },
};
const HOOK: JsonEntry = {
  path: ['hooks', 'Stop'],
  value: { hooks: [{ type: 'command', command: 'node hook.cjs', timeout: 5 }] },
  isElement: true,
};
const ENTRIES = [SERVER, HOOK, { ...HOOK, path: ['hooks', 'SessionStart'] }];

const edit = (text: string | undefined, entries: readonly JsonEntry[] = ENTRIES) =>
  applyEdit(text, { kind: 'json', path: 'settings.json', entries });

/** White space and comments between tokens; a line comment ends with its line. */
const trivia = (lineEnd: string) =>
  fc
    .array(
      fc.constantFrom(
        ' ',
        '\t',
        lineEnd,
        `${lineEnd}  `,
        '/* a, "b" { */',
        `// it's [ a } "comment${lineEnd}`,
        `/*${lineEnd}*/`,
      ),
      { maxLength: 3 },
    )
    .map((pieces) => pieces.join(''));

const name = fc.constantFrom('hooks', 'mcpServers', 'Stop', 'SessionStart', 'a', 'ä "b"', 'http://x', '');

/** Texts of JSON objects with comments, trailing commas, any layout, and often the keys of the entries. */
const document = fc.constantFrom('\n', '\r\n').chain((lineEnd) => {
  const space = trivia(lineEnd);
  const { object } = fc.letrec<{ value: string; object: string; array: string }>((tie) => {
    const list = (open: string, item: fc.Arbitrary<string>, close: string) =>
      fc
        .tuple(fc.array(fc.tuple(space, item, space), { maxLength: 3 }), fc.boolean(), space)
        .map(([items, hasComma, end]) => {
          const inner = items.map((each) => each.join('')).join(',');
          return `${open}${inner}${hasComma && items.length > 0 ? ',' : ''}${end}${close}`;
        });
    const property = fc
      .tuple(name, space, space, tie('value'))
      .map(([key, before, after, value]) => `${JSON.stringify(key)}${before}:${after}${value}`);
    return {
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('null', 'true', '-1.50e3', '"http://x // y"', '"\\u00e9\\n"', '""'),
        tie('object'),
        tie('array'),
      ),
      object: list('{', property, '}'),
      array: list('[', tie('value'), ']'),
    };
  });
  return fc.tuple(space, object, space).map((parts) => parts.join(''));
});

const toValue = (text: string): JsonValue => parse(text, [], { allowTrailingComma: true });

/** Returns the edited text; undefined if a key of an entry has a value of another kind. */
function tryEdit(text: string) {
  try {
    return edit(text);
  } catch {
    return undefined;
  }
}

describe('a change of a JSON file with comments', () => {
  it('restores every byte when it is undone, for any layout, comments, commas and line ends', () => {
    fc.assert(
      fc.property(document, (text) => {
        const edited = tryEdit(text);
        fc.pre(edited !== undefined);
        expect(undoEntries(edited?.text ?? '', edited?.undo ?? [])).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('adds the entries at the end of their lists, and changes no other value', () => {
    fc.assert(
      fc.property(document, (text) => {
        const edited = tryEdit(text);
        fc.pre(edited !== undefined && edited.notes.length === 0);
        const expected = toValue(text) as Record<string, Record<string, JsonValue>>;
        expected.mcpServers = { ...expected.mcpServers, memoryd: SERVER.value };
        for (const { path, value } of ENTRIES.slice(1)) {
          const [, event = ''] = path;
          const list = (expected.hooks?.[event] ?? []) as JsonValue[];
          expected.hooks = { ...expected.hooks, [event]: [...list, value] };
        }
        expect(toValue(edited?.text ?? '')).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  it('changes nothing the second time', () => {
    fc.assert(
      fc.property(document, (text) => {
        const edited = tryEdit(text);
        fc.pre(edited !== undefined);
        expect(edit(edited?.text)).toMatchObject({ text: edited?.text, undo: [] });
      }),
      { numRuns: 500 },
    );
  });

  it('keeps what the person writes between connect and remove', () => {
    fc.assert(
      fc.property(document, fc.constantFrom('first', 'last'), (text, place) => {
        const edited = tryEdit(text);
        fc.pre(edited !== undefined);
        const own = addJsonEntry(edited?.text ?? '', { path: ['own'], value: place });
        fc.pre(own !== undefined);
        const undone = undoEntries(own?.text ?? '', edited?.undo ?? []) ?? '';
        expect(toValue(undone)).toEqual({ ...(toValue(text) as object), own: place });
      }),
      { numRuns: 500 },
    );
  });

  it.each(['', ' \n', undefined])('creates an object in a file that is %j, and takes it back', (text) => {
    const edited = edit(text);
    expect(JSON.parse(edited.text ?? '')).toMatchObject({ mcpServers: { memoryd: SERVER.value } });
    expect(undoEntries(edited.text ?? '', edited.undo)).toBe(text ?? '');
  });

  it('keeps the comment of the last property with that property', () => {
    const { text } = edit('{\n\t"port": 8080 // default port\n}', [{ path: ['a'], value: { b: 1 } }]);
    expect(text).toBe('{\n\t"port": 8080, // default port\n\t"a": {\n\t\t"b": 1\n\t}\n}');
  });

  it('leaves a server of someone else with the same name, names its line, and writes the other entries', () => {
    const text = '{\n  "mcpServers": {\n    "memoryd": { "command": "own" }\n  }\n}\n';
    const { text: edited, notes } = edit(text);
    expect(notes).toEqual([expect.stringContaining('line 3 has a mcpServers.memoryd that connect did not write')]);
    expect(toValue(edited ?? '')).toMatchObject({ mcpServers: { memoryd: { command: 'own' } }, hooks: { Stop: [{}] } });
  });

  it('removes its handler from a group to which the person has added another', () => {
    const { text, undo } = edit('{}\n');
    const changed = JSON.parse(text ?? '');
    changed.hooks.Stop[0].hooks.push({ type: 'command', command: 'say done' });
    changed.hooks.SessionStart[0].hooks[0].timeout = 60;
    expect(JSON.parse(undoEntries(JSON.stringify(changed), undo) ?? '')).toEqual({
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'say done' }] }] },
    });
  });

  it('keeps the version of a file as long as the person has something in it', () => {
    const entries: JsonEntry[] = [{ path: ['version'], value: 1, isDefault: true }, HOOK];
    const { text, undo } = edit(undefined, entries);
    const changed = JSON.parse(text ?? '');
    changed.hooks.stop = [{ command: 'say done' }];
    expect(JSON.parse(undoEntries(JSON.stringify(changed), undo) ?? '')).toEqual({
      version: 1,
      hooks: { stop: [{ command: 'say done' }] },
    });
  });

  it.each(['// none yet', '/* a */\r\n// b\r\n', ' \n'])('adds the entries below the comments of %j', (text) => {
    const edited = edit(text);
    expect(edited.text?.startsWith(text.trimStart())).toBe(true);
    expect(edit(edited.text)).toMatchObject({ text: edited.text, undo: [] });
    expect(undoEntries(edited.text ?? '', edited.undo)).toBe(text);
    const withMore = edited.text?.replace(/^(?=\{)/m, '// mine\n') ?? '';
    expect(undoEntries(withMore, edited.undo)).toContain('// mine');
  });

  it('refuses an endless nesting', () => {
    expect(() => edit(`{"a": ${'['.repeat(100_000)}`)).toThrow(/line 1 is nested too deeply/);
  });

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', /line 3 is not valid JSON/],
    ['{\n  "hooks": []\n}', /line 2: hooks must be an object/],
    ['{ "hooks": {\n "Stop": {} } }', /line 2: hooks.Stop must be an array/],
    ['[]', /line 1 must begin a JSON object/],
  ])('refuses %j with its line', (text, message) => {
    expect(() => edit(text)).toThrow(message);
  });
});
