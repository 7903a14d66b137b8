import { createCheck, StoreRequest } from '@memoryd/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { getItem, toItemFields } from './stored-item.ts';

const check = createCheck(StoreRequest, 'body');
/** Any JSON that JavaScript keeps: negative zero is written as 0. */
const json = fc
  .jsonValue({ stringUnit: 'binary', maxDepth: 40 })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);

it('returns fields that the service accepts, from which the item is read unchanged', () => {
  const items = fc.tuple(fc.oneof(json, fc.string({ unit: 'binary' }), fc.maxSafeInteger()), fc.nat(20_000));
  fc.assert(
    fc.property(items, ([value, length]) => {
      const item = { value, large: 'é'.repeat(length) };
      const fields = toItemFields(item, 'items');
      expect(check({ content: 'text', ...fields })).toEqual([]);
      expect(getItem(fields)).toEqual(item);
    }),
  );
});

it.each([
  ['a lone surrogate', '\ud800'],
  ['U+0000', '\0'],
  ['an integer above 2^53', 2 ** 60],
  ['an exponent', 1e300],
  ['more than 32 levels', Array.from({ length: 40 }).reduce((inner) => [inner], 1)],
])('keeps %s, which metadata may not contain, in an attachment', (_description, value) => {
  const fields = toItemFields({ value }, 'items');
  expect(fields).toEqual({ attachment: JSON.stringify({ value }) });
  expect(getItem(fields)).toEqual({ value });
});

it('reads the metadata of a memory whose attachment is not a JSON object', () => {
  for (const attachment of ['{', '7', 'null']) expect(getItem({ metadata: { a: 1 }, attachment })).toEqual({ a: 1 });
});
