import { expect, it, onTestFinished } from 'vitest';
import { usePostgres } from '../../postgres/src/database.fixture.ts';
import { examine } from './doctor.ts';

it('memoryd doctor reports that a PostgreSQL database can be used, and leaves an empty database empty', async () => {
  const server = await usePostgres();
  onTestFinished(() => server.close());
  const url = await server.create();
  onTestFinished(() => server.drop(url));
  for (let time = 0; time < 2; time++) {
    const [database] = (await examine(['--database-url', url])).of('database');
    expect(database).toMatchObject({
      state: 'ok',
      found: expect.stringContaining('the next start will create the schema'),
    });
  }
});

it('memoryd doctor reports the reason of each host of an address with several hosts', async () => {
  const address = 'postgres://a:secret@127.0.0.1:1,nowhere.invalid:5432/a';
  const [database] = (await examine(['--database-url', address])).of('database');
  const found = /127\.0\.0\.1:1: no server listens .*; nowhere\.invalid:5432: the host name cannot be resolved/;
  expect(database).toMatchObject({ state: 'problem', found: expect.stringMatching(found) });
});

it('memoryd doctor reports an unreachable PostgreSQL server without its password', async () => {
  const [database] = (await examine(['--database-url', 'postgres://a:secret@127.0.0.1:1/a'])).of('database');
  expect(database).toMatchObject({ state: 'problem', found: expect.not.stringContaining('secret') });
});
