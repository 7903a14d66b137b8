import { expect, it } from 'vitest';
import type { MemoryRecord } from '../ports/storage-export.ts';
import { toRecordLine } from './record-lines.ts';

it('toRecordLine throws UNAVAILABLE with the memory id if the line would exceed the maximum string length', () => {
  const content = 'x'.repeat(1024 * 1024);
  const history = Array.from({ length: 520 }, (_, i) => ({ revision: i + 1, content, replacedAt: 1 }));
  const memory = { id: 'talkative', content, history } as MemoryRecord;
  expect(() => toRecordLine({ memory })).toThrow(
    expect.objectContaining({ code: 'UNAVAILABLE', message: expect.stringContaining('memory talkative') }),
  );
});
