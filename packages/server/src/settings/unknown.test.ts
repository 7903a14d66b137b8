import { describe, expect, it } from 'vitest';
import { unknownVariables } from './unknown.ts';

describe('unknown variables with the prefix of settings', () => {
  it('unknown variables with the prefix of settings are reported, with a suggestion if a setting has a similar name', () => {
    const env = {
      SERVICE_PROT: '1',
      SERVICE_DB_PTAH: 'x',
      SERVICE_NOTHING_LIKE_IT: 'x',
      SERVICE_PORT: '1',
      OTHER: 'x',
    };
    expect(unknownVariables(env)).toEqual([
      'SERVICE_PROT is not a setting and is ignored (Did you mean SERVICE_PORT?)',
      'SERVICE_DB_PTAH is not a setting and is ignored (Did you mean SERVICE_DB_PATH?)',
      'SERVICE_NOTHING_LIKE_IT is not a setting and is ignored',
    ]);
  });
});
