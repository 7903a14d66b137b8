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

it('memoryd doctor reports an unreachable PostgreSQL server without its password', async () => {
  const [database] = (await examine(['--database-url', 'postgres://a:secret@127.0.0.1:1/a'])).of('database');
  expect(database).toMatchObject({ state: 'problem', found: expect.not.stringContaining('secret') });
});
