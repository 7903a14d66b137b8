import { describe, expect, it } from 'vitest';
import { MemoryClient } from './client.ts';

describe('the address of a service', () => {
  it.each(['localhost:8090', '127.0.0.1:8090', 'ftp://localhost', 'http://', ''])(
    'is not %j, which is told at once',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must be an http or https address/);
    },
  );

  it.each(['http://localhost:8090', 'https://example.com/memory/', 'HTTP://[::1]:8090'])('may be %s', (url) => {
    expect(new MemoryClient({ url })).toBeInstanceOf(MemoryClient);
  });

  it.each(['http://localhost/?', 'http://localhost/?team=blue', 'http://localhost/memory#1'])(
    'holds no query and no fragment, which would take all paths: %s',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must hold no query and no fragment/);
    },
  );

  it.each(['http://ada:whispered@localhost', 'http://whispered@localhost/memory'])(
    'holds no user name, which is told without it: %s',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must hold no user name(?!.*whispered)/);
    },
  );
});
