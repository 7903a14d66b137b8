import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryUri, sessionUri, targetOf } from './uris.ts';

const anyId = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id.isWellFormed());

describe('the address of a resource', () => {
  it('leads back to the memory or session of any name', () => {
    fc.assert(
      fc.property(anyId, anyId, (id, cursor) => {
        expect(targetOf(memoryUri(id))).toEqual({ memoryId: id });
        expect(targetOf(sessionUri(id))).toEqual({ sessionId: id });
        const page = `${sessionUri(id)}?cursor=${encodeURIComponent(cursor)}`;
        expect(targetOf(page)).toEqual({ sessionId: id, cursor });
      }),
    );
  });

  it.each(['memory://', 'memory://%', 'memory://a/b', 'memory://a?cursor=b', 'session://a?b=c', 'http://a', ''])(
    'is not "%s"',
    (uri) => {
      expect(targetOf(uri)).toBeUndefined();
    },
  );
});
