import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { errorHandler } from './errors.ts';
import { entityTag, readStoreOptions, readWriteCondition } from './request-headers.ts';

const app = Fastify();
app.setErrorHandler(errorHandler({ report: () => {} }));
app.post('/store', readStoreOptions);
app.put('/update', readWriteCondition);

const condition = async (...values: string[]) => {
  const headers: Record<string, string[]> = values.length > 0 ? { 'if-match': values } : {};
  return (await app.inject({ method: 'PUT', url: '/update', headers })).json();
};

describe('If-Match', () => {
  it('sets no condition if it is absent or *', async () => {
    expect(await condition()).toEqual({});
    expect(await condition('*')).toEqual({});
  });

  it('matches the entity tags that the service issues', async () => {
    expect(await condition(entityTag(7))).toEqual({ ifVersions: [7] });
    expect(await condition('"1", "2" ,"3"')).toEqual({ ifVersions: [1, 2, 3] });
    expect(await condition('"1"', '"2"')).toEqual({ ifVersions: [1, 2] });
    expect(await condition('"1",,"2",')).toEqual({ ifVersions: [1, 2] });
  });

  it('matches neither weak tags nor tags of other services', async () => {
    expect(await condition('W/"1"')).toEqual({ ifVersions: [] });
    expect(await condition('"a,b", "01","", "99999999999999999999"')).toEqual({ ifVersions: [] });
  });

  it.each(['', '1', '"1', '"1" "2"', '*, "1"', ',', "'1'", 'w/"1"'])(
    'If-Match is rejected if it is malformed: %s',
    async (value) => {
      expect((await condition(value)).error).toMatchObject({ code: 'INVALID_REQUEST' });
    },
  );
});

describe('Idempotency-Key', () => {
  const options = async (...keys: string[]) => {
    const headers: Record<string, string[]> = keys.length > 0 ? { 'idempotency-key': keys } : {};
    return (await app.inject({ method: 'POST', url: '/store', headers })).json();
  };

  it('Idempotency-Key must be a text of 1 to 255 characters', async () => {
    expect(await options()).toEqual({});
    expect(await options('a, b')).toEqual({ idempotencyKey: 'a, b' });
    expect(await options('k'.repeat(255))).toEqual({ idempotencyKey: 'k'.repeat(255) });
    expect((await options('')).error.message).toBe('Idempotency-Key must be a text of 1 to 255 characters');
    expect((await options('k'.repeat(256))).error.message).toContain('255');
  });

  it('Idempotency-Key is rejected if it is repeated', async () => {
    expect((await options('a', 'a')).error.message).toBe('Idempotency-Key must be given once');
  });
});
