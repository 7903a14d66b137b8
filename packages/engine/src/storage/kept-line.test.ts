import { expect, it } from 'vitest';
import type { KeptMemory } from '../ports/storage-kept.ts';
import { toLine } from './kept-lines.ts';

it('a memory whose line would be longer than a string can be is named', () => {
  const content = 'x'.repeat(1024 * 1024);
  const history = Array.from({ length: 520 }, (_, i) => ({ revision: i + 1, content, replacedAt: 1 }));
  const memory = { id: 'talkative', content, history } as KeptMemory;
  expect(() => toLine({ memory })).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('memory talkative') }),
  );
});
