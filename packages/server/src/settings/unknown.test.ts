import { describe, expect, it } from 'vitest';
import { unknownVariables } from './unknown.ts';

describe('variables that look like settings and are none', () => {
  it('are told, with the one that was meant', () => {
    const env = {
      SERVICE_PROT: '1',
      SERVICE_DB_PTAH: 'x',
      SERVICE_NOTHING_LIKE_IT: 'x',
      SERVICE_PORT: '1',
      OTHER: 'x',
    };
    expect(unknownVariables(env)).toEqual([
      'SERVICE_PROT is no setting, and is ignored (Did you mean SERVICE_PORT?)',
      'SERVICE_DB_PTAH is no setting, and is ignored (Did you mean SERVICE_DB_PATH?)',
      'SERVICE_NOTHING_LIKE_IT is no setting, and is ignored',
    ]);
  });
});
