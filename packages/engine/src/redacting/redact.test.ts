import { createCheck, MemoryError, StoreRequest } from '@memoryd/contract';
import { acceptRequest } from '@memoryd/core/operations';
import { describe, expect, it } from 'vitest';
import { knownFormats } from './known-formats.ts';

const check = createCheck(StoreRequest, 'body');
const accept = (request: StoreRequest) => acceptRequest(knownFormats, check, request);

/** Joined here, so that secret scanners do not report this file. */
const TOKEN = ['ghp', 'R8sK2mVq7LxT4bNw9ZcY1fHj6DpG3uE5aQoI'].join('_');
const CARD = '4111 1111 1111 1111';

describe('acceptRequest', () => {
  it('redacts secrets in content, tags, source and metadata, and returns their number by kind', () => {
    const { request, redacted } = accept({
      content: `Deploy with ${TOKEN}, pay with ${CARD}.`,
      tags: ['plain', TOKEN],
      source: `mail ${CARD}`,
      metadata: {
        note: `see ${TOKEN}`,
        db_password: 'Tr0ub4dor&3',
        deep: [{ cards: [CARD, 4111111111111111] }, 7, null, true],
        [TOKEN]: 'its owner',
      },
    });
    expect(request).toEqual({
      content: 'Deploy with [redacted:github-token], pay with [redacted:payment-card].',
      tags: ['plain', '[redacted:github-token]'],
      source: 'mail [redacted:payment-card]',
      metadata: {
        note: 'see [redacted:github-token]',
        db_password: '[redacted:password]',
        deep: [{ cards: ['[redacted:payment-card]', '[redacted:payment-card]'] }, 7, null, true],
        '[redacted:github-token]': 'its owner',
      },
    });
    expect(redacted).toEqual([
      { kind: 'github-token', count: 4 },
      { kind: 'payment-card', count: 4 },
      { kind: 'password', count: 1 },
    ]);
    expect(JSON.stringify(request)).not.toMatch(/ghp_|4111/);
  });

  it('acceptRequest redacts the strings of an attachment in JSON, which stays JSON, and any other attachment as text', () => {
    const attached = (attachment: string) => accept({ content: 'x', attachment }).request.attachment;
    expect(attached(`{"password": "Tr0ub4dor&3", "note": "a \\"b\\" ${TOKEN}"}`)).toBe(
      '{"password":"[redacted:password]","note":"a \\"b\\" [redacted:github-token]"}',
    );
    expect(attached(`not JSON: ${TOKEN}`)).toBe('not JSON: [redacted:github-token]');
    expect(attached('{ "big": 1e400 }')).toBe('{ "big": 1e400 }');
  });

  it('acceptRequest does not redact ids, which clients use for lookups', () => {
    const ids = { session_id: TOKEN, supersedes: TOKEN };
    expect(accept({ content: 'x', ...ids })).toEqual({ request: { content: 'x', ...ids } });
  });

  it('keeps all metadata fields if their names become equal by redaction', () => {
    const { request } = accept({ content: 'x', metadata: { [TOKEN]: 1, [`${TOKEN}Z`]: 2 } });
    expect(request.metadata).toEqual({ '[redacted:github-token]': 1, '[redacted:github-token] 2': 2 });
  });

  it('returns the same object if there are no secrets or no redactor', () => {
    const plain = { content: 'no secret', metadata: { a: [1] } };
    expect(accept(plain).request).toBe(plain);
    const secret = { content: TOKEN };
    expect(acceptRequest(undefined, check, secret)).toEqual({ request: secret });
  });

  it('refuses a text that is too long before or after redaction', () => {
    const tag = `password=hunter22${' x'.repeat(55)}`;
    expect(tag.length).toBeLessThanOrEqual(128);
    expect(() => accept({ content: 'x', tags: [tag] })).toThrow(MemoryError);
    expect(() => accept({ content: 'x', tags: ['y'.repeat(129)] })).toThrow(MemoryError);
  });
});
