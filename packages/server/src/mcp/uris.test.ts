import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memoryUri, parseTarget, sessionUri } from './uris.ts';

const anyId = fc.string({ unit: 'grapheme', minLength: 1 }).filter((id) => id.isWellFormed());

describe('the URI of a resource', () => {
  it('the URI of a resource can be parsed back into the same memory or session id', () => {
    fc.assert(
      fc.property(anyId, anyId, (id, cursor) => {
        expect(parseTarget(memoryUri(id))).toEqual({ memoryId: id });
        expect(parseTarget(sessionUri(id))).toEqual({ sessionId: id });
        const page = `${sessionUri(id)}?cursor=${encodeURIComponent(cursor)}`;
        expect(parseTarget(page)).toEqual({ sessionId: id, cursor });
      }),
    );
  });

  it.each(['memory://', 'memory://%', 'memory://a/b', 'memory://a?cursor=b', 'session://a?b=c', 'http://a', ''])(
    'the URI of a resource cannot be "%s"',
    (uri) => {
      expect(parseTarget(uri)).toBeUndefined();
    },
  );
});
