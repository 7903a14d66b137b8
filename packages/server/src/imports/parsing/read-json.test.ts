import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnreadableFile } from '../source/source.ts';
import { type FoundValue, readJsonElements, readJsonValues } from './read-json.ts';

type Bytes = Uint8Array | string;

async function* toChunks(bytes: Bytes, cuts: readonly number[] = []): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(bytes as string);
  const at = [0, ...cuts.map((cut) => cut % (all.length + 1)).sort((a, b) => a - b), all.length];
  // One buffer for all chunks, as a file may use it.
  const shared = Buffer.alloc(all.length);
  for (let index = 1; index < at.length; index += 1) {
    const chunk = all.subarray(at[index - 1], at[index]);
    shared.fill(0x22);
    chunk.copy(shared);
    yield shared.subarray(0, chunk.length);
  }
}

async function read(
  bytes: Bytes | AsyncIterable<Uint8Array>,
  places: readonly string[],
  options?: { maxBytes?: number },
): Promise<FoundValue[]> {
  const chunks = typeof bytes === 'string' || bytes instanceof Uint8Array ? toChunks(bytes) : bytes;
  const found: FoundValue[] = [];
  for await (const one of readJsonValues(chunks, places, options)) found.push(one);
  return found;
}

const getValues = (found: readonly FoundValue[]) => found.flatMap((one) => ('value' in one ? [one.value] : []));
const getRefused = (found: readonly FoundValue[]) => found.flatMap((one) => ('refused' in one ? [one.refused] : []));

/** JSON texts as programs write them: compact, indented, with escapes. */
const toJson = (value: unknown, style: number): string => {
  const text = JSON.stringify(value, undefined, style % 2 === 0 ? undefined : 2);
  return style < 2
    ? text
    : text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
};
const anyJson = fc.jsonValue({ stringUnit: 'binary' }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const awkwardText = fc.stringMatching(/^[\\"{}[\],:aé€😀]{0,90}$/u);
const anyElement = fc.oneof(anyJson, awkwardText, fc.dictionary(awkwardText, awkwardText));
const anyCuts = fc.array(fc.nat(5000), { maxLength: 30 });

describe('reading the values of a JSON document', () => {
  it('returns the elements of any array for any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyElement), fc.nat(3), anyCuts, async (elements, style, cuts) => {
        const found = await read(toChunks(toJson(elements, style), cuts), ['*']);
        expect(found).toEqual(elements.map((value, index) => ({ place: '*', number: index + 1, value })));
      }),
    );
  });

  it('returns the wanted fields of any object in its order for any chunks', async () => {
    const anyObject = fc.dictionary(fc.constantFrom('results', 'blocks', 'other', 'meta\n"data', '*', '$'), anyElement);
    const withArrays = fc.tuple(anyObject, fc.array(anyElement)).map(([object, results]) => ({ ...object, results }));
    await fc.assert(
      fc.asyncProperty(withArrays, fc.nat(3), anyCuts, async (object, style, cuts) => {
        const found = await read(toChunks(toJson(object, style), cuts), ['*', 'results.*', 'meta\n"data']);
        const expected = Object.entries(object).flatMap(([name, value]) => {
          if (name === 'results')
            return object.results.map((one, at) => ({ place: 'results.*', number: at + 1, value: one }));
          return name.startsWith('meta') ? [{ place: name, number: 1, value }] : [];
        });
        expect(found).toEqual(expected);
      }),
    );
  });

  it('returns the whole of any document for any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(anyElement, fc.nat(3), anyCuts, async (value, style, cuts) => {
        expect(await read(toChunks(` ${toJson(value, style)}\n`, cuts), ['$'])).toEqual([
          { place: '$', number: 1, value },
        ]);
      }),
    );
  });

  it.each([
    ['the elements of an array', '[1,2]', [1, 2]],
    ['an object as a whole', '{"a":[1,2]}', [{ a: [1, 2] }]],
  ])('returns %s if elements and whole documents are wanted', async (_, text, values) => {
    expect(getValues(await read(text, ['*', '$']))).toEqual(values);
  });

  it('returns the values before the end of a truncated document, and one refusal', async () => {
    const objects = fc.array(fc.dictionary(awkwardText, awkwardText, { maxKeys: 2 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(objects, fc.nat(3), fc.boolean(), async (elements, style, isField) => {
        const whole = Buffer.from(
          isField ? `{"a":${toJson(1, style)},"results":${toJson(elements, style)}}` : toJson(elements, style),
        );
        let before = 0;
        for (let length = 0; length < whole.length; length += 1) {
          const found = await read(whole.subarray(0, length), ['*', 'results.*']);
          const values = getValues(found);
          expect(values).toEqual(elements.slice(0, values.length));
          expect(values.length).toBeGreaterThanOrEqual(before);
          expect(getRefused(found)).toEqual([expect.stringMatching(/ends in the middle|must not be empty/)]);
          expect(found.at(-1)).toHaveProperty('refused');
          before = values.length;
        }
        expect(before).toBe(elements.length);
      }),
      { numRuns: 10 },
    );
  });

  it('never throws for random bytes, and refuses the rest once', async () => {
    const structure = fc
      .array(fc.constantFrom('[', ']', '{', '}', ',', ':', '"', '\\', 'a', '1', ' ', '"results":[', '\0', 'é'))
      .map((parts) => parts.join(''));
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      structure,
      structure.map((text) => `[${text}`),
      structure.map((text) => `{"results":[${text}`),
    );
    await fc.assert(
      fc.asyncProperty(
        bytes,
        anyCuts,
        fc.constantFrom(['*'], ['$'], ['*', 'results.*', 'a']),
        async (data, cuts, places) => {
          const found = await read(toChunks(data, cuts), places);
          expect(await read(data, places)).toEqual(found);
          expect(getRefused(found).filter((reason) => /file|document|must match/.test(reason)).length).toBeLessThan(2);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ['an unknown word', '[{"a":1},{"a":oops},{"a":3}]', '9'],
    ['a missing comma inside', '[{"a":1},{"a":2 "b":2},{"a":3}]', '9'],
    ['a bracket of the wrong kind inside', '[{"a":1},{"b":[2}],{"a":3}]', '9'],
    ['a line break in a text', '[{"a":1},{"a":"x\ny"},{"a":3}]', '9'],
    ['no element between two commas', '[{"a":1},,{"a":3}]', '9'],
  ])('reads the next element after an element with %s', async (_, text, start) => {
    expect(await read(text, ['*'])).toEqual([
      { place: '*', number: 1, value: { a: 1 } },
      { place: '*', number: 2, refused: `the value at byte ${start} must be valid JSON` },
      { place: '*', number: 3, value: { a: 3 } },
    ]);
  });

  it('refuses an element with bytes that are no UTF-8, and reads the next one', async () => {
    const text = Buffer.from('["caf\xe9","caf\xc3\xa9"]', 'latin1');
    const refused = 'the value at byte 1 must be UTF-8';
    expect(await read(text, ['*'])).toEqual([
      { place: '*', number: 1, refused },
      { place: '*', number: 2, value: 'café' },
    ]);
  });

  it.each([
    ['more bytes than allowed', `["${'x'.repeat(100)}",2]`, 'the value at byte 1 must have at most 50 bytes'],
    [
      'brackets too deep',
      `[${'['.repeat(2000)}${']'.repeat(2000)},2]`,
      'the value at byte 1 must have brackets at most 1000 deep',
    ],
  ])('refuses a value with %s, and reads the next one', async (_, text, refused) => {
    const maxBytes = refused.endsWith('bytes') ? 50 : 10_000;
    expect(await read(toChunks(text, [20, 40, 60, 80]), ['*'], { maxBytes })).toEqual([
      { place: '*', number: 1, refused },
      { place: '*', number: 2, value: 2 },
    ]);
  });

  it('refuses a value with too many fields and elements, before it takes the memory', async () => {
    async function* chunks() {
      yield Buffer.from('[[');
      const commas = Buffer.alloc(100_000, ',');
      for (let count = 0; count < 41; count += 1) yield commas;
      yield Buffer.from('],2]');
    }
    expect(await read(chunks(), ['*'])).toEqual([
      { place: '*', number: 1, refused: 'the value at byte 1 must have at most 4000000 fields and elements' },
      { place: '*', number: 2, value: 2 },
    ]);
  });

  it('ignores the size of values that are not wanted', async () => {
    const text = `{"embedding":[${'1,'.repeat(500)}1],"results":[1]}`;
    expect(getValues(await read(text, ['results.*'], { maxBytes: 50 }))).toEqual([1]);
  });

  it('skips a byte order mark that is split by a chunk border', async () => {
    const text = Buffer.from('\ufeff[1]');
    expect(await read(toChunks(text, [1, 2]), ['*'])).toEqual([{ place: '*', number: 1, value: 1 }]);
    expect(getValues(await read(toChunks(text, [1, 2]), ['$']))).toEqual([[1]]);
  });

  it.each([
    ['UTF-16', Buffer.from('\ufeff[1]', 'utf16le'), 'the file must be UTF-8'],
    ['another kind of value', '"text"', 'the file must be a JSON array or object'],
    ['nothing', ' \n', 'the file must not be empty'],
    ['brackets that do not match', '[}', 'brackets must match; see byte 1'],
  ])('refuses a document of %s once', async (_, bytes, refused) => {
    expect(await read(bytes, ['*', 'results.*'])).toEqual([
      { place: expect.any(String), number: 1, refused, isBroken: true },
    ]);
  });

  it('refuses what follows the document, after its values', async () => {
    expect(await read('[1]\n[2]', ['*'])).toEqual([
      { place: '*', number: 1, value: 1 },
      { place: '$', number: 1, refused: 'nothing must follow the end of the document, at byte 4', isBroken: true },
    ]);
  });

  it('refuses a wanted array that is another value, but takes null for a missing one', async () => {
    const refused = 'the field results must be an array';
    const place = 'results.*';
    expect(await read('{"results":{"a":1},"x":1}', [place])).toEqual([{ place, number: 1, refused }]);
    expect(await read('{"results":null,"x":1}', [place])).toEqual([]);
  });

  it('returns the values before a failure of the file, and its reason', async () => {
    async function* chunks() {
      yield Buffer.from('[1,{"a":2},{"a"');
      throw new UnreadableFile('the entry is truncated');
    }
    expect(await read(chunks(), ['*'])).toEqual([
      { place: '*', number: 1, value: 1 },
      { place: '*', number: 2, value: { a: 2 } },
      { place: '*', number: 3, refused: 'the entry is truncated', isBroken: true },
    ]);
  });

  it('passes on an error that is no fault of the file', async () => {
    async function* chunks() {
      yield Buffer.from('[1,');
      throw new Error('aborted');
    }
    await expect(read(chunks(), ['*'])).rejects.toThrow('aborted');
  });
});

describe('readJsonElements', () => {
  async function readElements(bytes: Bytes, maxBytes = 100): Promise<unknown[]> {
    const found: unknown[] = [];
    for await (const one of readJsonElements(toChunks(bytes, [3, 9]), maxBytes)) {
      found.push('value' in one ? String(one.value) : one);
    }
    return found;
  }

  it('returns the text of each element unchanged, even if it is not JSON', async () => {
    expect(await readElements('[{"a": 1e400}, nope , "x,]" ,7]')).toEqual(['{"a": 1e400}', 'nope ', '"x,]" ', '7']);
  });

  it('refuses an element above the maximum size and reads the next one', async () => {
    expect(await readElements('[1,"0123456789",2]', 10)).toMatchObject(['1', { number: 2, isTooLarge: true }, '2']);
  });

  it('refuses a document that is not an array', async () => {
    expect(await readElements('{"a":[1]}')).toMatchObject([{ place: '$', refused: 'the file must be a JSON array' }]);
  });
});
