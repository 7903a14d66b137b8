import type { UsersResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { uniqueWord } from './database-files.ts';
import { databaseHolds } from './databases.ts';
import { eventually } from './process.ts';
import { expectError } from './refusal.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

describe('a user-bound key', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_ACCESS_LOG: 'true' } });
  let operator: Record<string, string> = {};
  let ada: Record<string, string>;

  const addKey = async (json: object) => {
    const { key } = await memoryd.ok<{ key: string }>({ method: 'POST', path: '/keys', headers: operator, json });
    return { authorization: `Bearer ${key}` };
  };

  beforeAll(async () => {
    operator = await addKey({ namespace: 'default', scope: 'operate' });
    ada = await addKey({ namespace: 'default', scope: 'write', user_id: 'ada', agent_id: 'cook' });
  });

  it('adds the user to the access log and the audit log', async () => {
    const id = await memoryd.store({ content: 'to be forgotten' }, ada);
    await memoryd.ok({ method: 'DELETE', path: `/forget/${id}`, headers: ada });
    const records = memoryd.server.records();
    const last = (event: string) => records.findLast((record) => record.event === event);
    expect(last('memory_forgotten')).toMatchObject({ user_id: 'ada', agent_id: 'cook', memory_id: id });
    expect(records.filter(({ event }) => event === 'request_completed').at(-1)).toMatchObject({ user_id: 'ada' });
  });

  it('a user-bound key is listed with its user and agent', async () => {
    const { keys: listed } = await memoryd.ok<{ keys: object[] }>({ path: '/keys', headers: operator });
    expect(listed).toContainEqual(expect.objectContaining({ user_id: 'ada', agent_id: 'cook', scope: 'write' }));
    expect(listed).toContainEqual(expect.not.objectContaining({ user_id: expect.anything() }));
  });
});

describe('the users of a namespace', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_USER_MAX_MEMORIES: '3' } });

  it('the users of a namespace are returned by GET /users with counts and quotas, page by page', async () => {
    await memoryd.storeAll(['a', 'b', 'b', 'c'].map((user_id, n) => ({ user_id, content: `text ${n}` })));
    await memoryd.store({ content: 'of nobody' });
    const first = await memoryd.get<UsersResponse>('/users?limit=2');
    expect(first).toMatchObject({
      total: 3,
      users: [
        { user_id: 'a', memories: 1, working_count: 1, bytes: 6, quota: { memories: null, bytes: null } },
        { user_id: 'b', memories: 2, working_count: 2, last_stored_at: expect.stringMatching(/Z$/) },
      ],
    });
    const rest = await memoryd.get<UsersResponse>(`/users?limit=2&cursor=${first.next_cursor}`);
    expect(rest.users.map(({ user_id }) => user_id)).toEqual(['c']);
    expect(rest.next_cursor).toBeUndefined();
  });

  it('the users of a namespace cannot store above their quota, while other users can store', async () => {
    const store = (user_id: string, content: string) =>
      memoryd.send({ method: 'POST', path: '/store', json: { user_id, content } });
    for (const content of ['one', 'two', 'three']) expect((await store('full', content)).status).toBe(200);
    const answer = await store('full', 'four');
    expectError(answer, { code: 'FORBIDDEN' });
    expect(answer.text).toMatch(/user/);
    expect((await store('else', 'one')).status).toBe(200);
    const quota = { memories: 4, bytes: null };
    await memoryd.ok({ method: 'PUT', path: '/users/full/quota', json: quota });
    expect((await store('full', 'four')).status).toBe(200);
    expectError(await store('full', 'five'), { code: 'FORBIDDEN' });
    const { users } = await memoryd.get<UsersResponse>('/users?limit=100');
    expect(users.find(({ user_id }) => user_id === 'full')).toMatchObject({ memories: 4, quota });
  });
});

describe('the data of one user', () => {
  it('the data of one user can be exported and forgotten with one request each, and leaves no bytes in the database', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { database } = client.server;
    const words = Array.from({ length: 7 }, uniqueWord);
    const remaining = uniqueWord();
    const [text, later, tag, first, second, source, attached] = words as [
      ...[string, string, string, string, string, string, string],
    ];
    const user_id = uniqueWord();
    await client.store({ user_id: 'stays', content: `${remaining} stays` });
    const id = await client.store({
      user_id,
      content: `${text} first`,
      tags: [tag],
      source,
      metadata: { [first]: second },
      attachment: `${attached} `.repeat(2000),
    });
    await client.update(id, { content: `${later} then` });
    // Creates a duplicate, which the consolidation moves to the archive.
    await client.storeInOrder([0, 1].map(() => ({ user_id, content: `${text} twice`, session_id: 'duplicates' })));
    await client.consolidate();
    const lines = (await client.send({ path: `/export?user_id=${user_id}` })).text.trim().split('\n').slice(1);
    expect(lines).toHaveLength(3);
    for (const word of words) expect(lines.join('\n')).toContain(word);
    expect(lines.join('\n')).not.toContain(remaining);

    expect(await client.forgetMany(`user_id=${user_id}`)).toMatchObject({ forgotten_count: 3 });
    for (const word of [...words, user_id]) {
      await eventually(`no byte of ${word}`, 5000, async () => !(await databaseHolds(database, word)) || undefined);
    }
    expect((await client.get<UsersResponse>('/users')).users.map((user) => user.user_id)).toEqual(['stays']);
    expect(await databaseHolds(database, remaining)).toBe(true);
    expect(await client.recalled(remaining, 'user_id=stays')).toHaveLength(1);
    await client.server.stop();
  });
});
