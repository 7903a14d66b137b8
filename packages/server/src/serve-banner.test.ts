import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { getBanner } from './serve-banner.ts';

const url = 'http://127.0.0.1:8090';

it('the banner shows the addresses, the absolute path of the data, and commands to try', () => {
  const banner = getBanner({ database: { dbPath: 'memory.db' } }, url, false);
  for (const text of [`${url}/ui`, `${url}/docs`, `${url}/mcp`, resolve('memory.db'), 'Press Ctrl+C to stop']) {
    expect(banner).toContain(`${text}\n`);
  }
  expect(banner).toContain(`curl ${url}/store`);
  expect(banner).toContain(`curl '${url}/recall?user_id=ada&query=Can+Ada+eat+peanut+butter'`);
});

it('the banner does not show the password of a PostgreSQL database', () => {
  const banner = getBanner({ database: { databaseUrl: 'postgres://ada:secret@db.example/memories' } }, url, false);
  expect(banner).toContain('postgres://db.example/memories\n');
  expect(banner).not.toContain('secret');
});

it('the commands of the banner send an API key if the service needs one', () => {
  const banner = getBanner({ database: { dbPath: 'memory.db' } }, url, true);
  expect(banner.match(/curl -H 'Authorization: Bearer KEY' /g)).toHaveLength(2);
});
