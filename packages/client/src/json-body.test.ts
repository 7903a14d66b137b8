import { describe, expect, it } from 'vitest';
import { MemoryClient } from './client.ts';

describe('a number that JSON cannot represent', () => {
  const memory = new MemoryClient({ url: 'http://127.0.0.1:9', retries: 0 });

  it.each([
    ['NaN', { metadata: { 'a/b': [Number.NaN] } }, '/metadata/a~1b/0'],
    ['Infinity', { importance: Number.POSITIVE_INFINITY }, '/importance'],
    ['a BigInt', { metadata: { discord_id: 1187654321987654321n } }, '/metadata/discord_id'],
  ])(
    'a number that JSON cannot represent is rejected before the request is sent, with the path of its field: %s',
    async (_, fields, path) => {
      await expect(memory.store({ content: 'a', ...fields })).rejects.toMatchObject({
        name: 'MemoryError',
        code: 'INVALID_REQUEST',
        details: [{ path }],
      });
    },
  );
});
