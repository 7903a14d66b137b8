import { describe, expect, it } from 'vitest';
import { MemoryClient } from './client.ts';

describe('the option url of MemoryClient', () => {
  it.each(['localhost:8090', '127.0.0.1:8090', 'ftp://localhost', 'http://', ''])(
    'throws in the constructor for %j, which is not an http or https URL',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must be an http or https URL/);
    },
  );

  it.each(['http://localhost:8090', 'https://example.com/memory/', 'HTTP://[::1]:8090'])(
    'the option url of MemoryClient accepts %s',
    (url) => {
      expect(new MemoryClient({ url })).toBeInstanceOf(MemoryClient);
    },
  );

  it.each(['http://localhost/?', 'http://localhost/?team=blue', 'http://localhost/memory#1'])(
    'rejects URLs with a query or fragment: %s',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must not contain a query or fragment/);
    },
  );

  it.each(['http://ada:whispered@localhost', 'http://whispered@localhost/memory'])(
    'rejects URLs with credentials, and does not show the credentials in the message: %s',
    (url) => {
      expect(() => new MemoryClient({ url })).toThrow(/^url must not contain a user name(?!.*whispered)/);
    },
  );
});
