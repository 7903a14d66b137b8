import type { ApiKeyWithSecret, HooksResponse, NewKey } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectRefused } from './refusal.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

const DEFAULT = { paused: false, ignored_folders: [], programs: [] };
const FOLDERS = ['/home/ada/private', 'C:\\Users\\Ada\\taxes', '\\\\nas\\ada', 'd:/work'];

describe('the hook settings of a user', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const put = (path: string, json: object) => ({ method: 'PUT', path, json });
  const read = (path: string) => memoryd.get<HooksResponse>(path);

  it('the hook settings of a user are changed one by one, and differ from those of other users and of no user', async () => {
    expect(await read('/hooks?user_id=ada')).toEqual(DEFAULT);
    const repeated = [...FOLDERS, ...FOLDERS];
    expect(await memoryd.ok(put('/hooks?user_id=ada', { ignored_folders: repeated }))).toEqual({
      ...DEFAULT,
      ignored_folders: FOLDERS,
    });
    await memoryd.ok(put('/hooks?user_id=ada', { paused: true }));
    expect(await read('/hooks?user_id=ada')).toEqual({ ...DEFAULT, paused: true, ignored_folders: FOLDERS });
    expect(await read('/hooks?user_id=ben')).toEqual(DEFAULT);
    expect(await read('/hooks')).toEqual(DEFAULT);
    await memoryd.ok(put('/hooks', { paused: true }));
    expect(await read('/hooks?user_id=ben')).toEqual(DEFAULT);
  });

  it.each([
    ['ignored_folders', { ignored_folders: ['private'] }],
    ['ignored_folders', { ignored_folders: [''] }],
    ['ignored_folders', { ignored_folders: [`/${'x'.repeat(1024)}`] }],
    ['ignored_folders', { ignored_folders: ['/a\0b'] }],
    ['ignored_folders', { ignored_folders: Array.from({ length: 101 }, (_, i) => `/${i}`) }],
    ['ignored_folders', { ignored_folders: null }],
    ['paused', { paused: 'yes' }],
    ['folders', { paused: true, folders: [] }],
  ])('the hook settings of a user stay as they are after a request with an invalid %s: %j', async (field, json) => {
    await memoryd.ok(put('/hooks?user_id=cleo', { ignored_folders: ['/before'] }));
    await expectRefused(memoryd, put('/hooks?user_id=cleo', json), { field });
    expect(await read('/hooks?user_id=cleo')).toEqual({ ...DEFAULT, ignored_folders: ['/before'] });
  });

  it('the hook settings of a user are not changed by an empty request', async () => {
    const refused = await expectRefused(memoryd, put('/hooks', {}), {});
    expect(refused.text).toContain('at least one of paused, ignored_folders');
    await expectRefused(memoryd, { path: '/hooks?user_id=' }, { field: 'user_id' });
  });
});

describe('the hook settings of a key', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  let operator: Record<string, string> = {};
  const addKey = async (json: NewKey) =>
    bearer((await memoryd.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers: operator })).key);
  beforeAll(async () => {
    operator = await addKey({ namespace: 'default', scope: 'operate' });
  });

  it('the hook settings of a key that is bound to a user are those of this user only', async () => {
    const headers = await addKey({ namespace: 'default', scope: 'write', user_id: 'ada' });
    const pausing = { method: 'PUT', path: '/hooks', json: { paused: true, ignored_folders: ['/home/ada/secret'] } };
    await memoryd.ok({ ...pausing, headers });
    const readAs = (user: string, as: Record<string, string>) =>
      memoryd.ok<HooksResponse>({ path: `/hooks${user}`, headers: as });
    expect(await readAs('', headers)).toMatchObject({ paused: true });
    expect(await readAs('?user_id=ada', operator)).toMatchObject({ paused: true });
    expect(await readAs('', operator)).toEqual(DEFAULT);
    for (const request of [{ path: '/hooks?user_id=ben' }, { ...pausing, path: '/hooks?user_id=ben' }]) {
      await expectRefused(memoryd, { ...request, headers }, { code: 'FORBIDDEN' }, operator);
    }
    expect(await readAs('?user_id=ben', operator)).toEqual(DEFAULT);
    const audited = memoryd.server.records().filter(({ event }) => event === 'hooks_changed');
    expect(audited).toMatchObject([{ component: 'audit', user_id: 'ada', of_user: 'ada', ignored_folders: 1 }]);
    expect(JSON.stringify(audited)).not.toContain('secret');
  });

  it('the hook settings of a key with the scope read can be read and not changed', async () => {
    const headers = await addKey({ namespace: 'default', scope: 'read' });
    expect(await memoryd.ok({ path: '/hooks?user_id=cleo', headers })).toEqual(DEFAULT);
    const pausing = { method: 'PUT', path: '/hooks?user_id=cleo', json: { paused: true }, headers };
    await expectRefused(memoryd, pausing, { code: 'FORBIDDEN' }, operator);
    expect(await memoryd.ok({ path: '/hooks?user_id=cleo', headers })).toEqual(DEFAULT);
  });
});

it('hook settings survive a restart of the service, and stay when all memories of the user are forgotten', async () => {
  const before = await startClient({ env: WORDS_ONLY });
  const { dbPath } = before.server;
  await before.ok({ method: 'PUT', path: '/hooks?user_id=ada', json: { paused: true } });
  await before.server.stop();
  const after = await startClient({ dbPath, env: WORDS_ONLY });
  expect(await after.get('/hooks?user_id=ada')).toMatchObject({ paused: true });
  await after.forgetMany('user_id=ada');
  expect(await after.get('/hooks?user_id=ada')).toMatchObject({ paused: true });
  await after.server.stop();
});
