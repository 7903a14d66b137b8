import { describe, expect, it } from 'vitest';
import { type NewRecall, RememberedRecalls } from './remembered-recalls.ts';

const RECALL: NewRecall = { id: 'r', at: 0, kind: 'recall', query: 'tea', of: {}, results: [{ id: 'm', score: 0.5 }] };
const OF_ADA = { of: { userIds: ['ada', ''] } };

const getQueries = (recalls: RememberedRecalls, namespace = 'home', scope = {}) =>
  recalls.list(namespace, scope).map(({ query }) => query);

describe('RememberedRecalls', () => {
  it('lists the recalls of a namespace, newest first', () => {
    const recalls = new RememberedRecalls();
    recalls.add('home', { ...RECALL, query: 'one' });
    recalls.add('work', { ...RECALL, query: 'two' });
    recalls.add('home', { ...RECALL, query: 'three' });
    expect(getQueries(recalls)).toEqual(['three', 'one']);
  });

  it('lists a recall over all users under no user', () => {
    const recalls = new RememberedRecalls();
    recalls.add('home', { ...RECALL, query: 'all' });
    recalls.add('home', { ...RECALL, query: 'hers', ...OF_ADA });
    expect(getQueries(recalls, 'home', { userId: 'ada' })).toEqual(['hers']);
    expect(getQueries(recalls, 'home', { userId: 'ben' })).toEqual([]);
    expect(getQueries(recalls, 'home', {})).toEqual(['hers', 'all']);
  });

  it('keeps the last 10,000 recalls of a namespace', () => {
    const recalls = new RememberedRecalls();
    for (let i = 1; i <= 10_003; i++) recalls.add('home', { ...RECALL, query: `${i}` });
    const queries = getQueries(recalls);
    expect(queries).toHaveLength(10_000);
    expect([queries[0], queries.at(-1)]).toEqual(['10003', '4']);
  });

  it('drops the oldest recalls of the largest namespace at the limit of bytes', () => {
    const recalls = new RememberedRecalls({ bytes: 20_000, namespaces: 10 });
    recalls.add('small', { ...RECALL, query: 'stays' });
    for (let i = 0; i < 100; i++) recalls.add('large', { ...RECALL, query: `${i} ${'x'.repeat(500)}` });
    expect(getQueries(recalls, 'small')).toEqual(['stays']);
    const left = getQueries(recalls, 'large');
    expect(left.length).toBeGreaterThan(5);
    expect(left.length).toBeLessThan(20);
    expect(left[0]).toMatch(/^99 /);
  });

  it('drops the namespace whose last recall is the oldest at the limit of namespaces', () => {
    const recalls = new RememberedRecalls({ bytes: 20_000, namespaces: 2 });
    for (const namespace of ['one', 'two', 'one', 'three']) recalls.add(namespace, RECALL);
    expect(['one', 'two', 'three'].map((namespace) => getQueries(recalls, namespace).length)).toEqual([2, 0, 1]);
  });

  it.each([
    ['its user', { userId: 'ada' }],
    ['its agent', { agentId: 'cook' }],
    ['its session', { sessionId: 's' }],
    ['its user and agent', { userId: 'ada', agentId: 'cook' }],
    ['its namespace', {}],
  ])('remembers no recall that was running when %s was forgotten', (_of, scope) => {
    const recalls = new RememberedRecalls();
    const begun = recalls.begin();
    recalls.forget({ namespace: 'home', ...scope });
    const recall = { ...RECALL, of: { userIds: ['ada'], agentIds: ['cook', ''] }, sessionId: 's' };
    recalls.add('home', recall, begun);
    expect(getQueries(recalls)).toEqual([]);
    recalls.add('home', { ...recall, query: 'later' }, recalls.begin());
    expect(getQueries(recalls)).toEqual(['later']);
  });

  it.each([
    ['another user', { namespace: 'home', userId: 'ben' }],
    ['another session of its user', { namespace: 'home', userId: 'ada', sessionId: 't' }],
    ['its user in another namespace', { namespace: 'work', userId: 'ada' }],
  ])('remembers a recall that was running when %s was forgotten', (_of, scope) => {
    const recalls = new RememberedRecalls();
    const begun = recalls.begin();
    recalls.forget(scope);
    recalls.add('home', { ...RECALL, ...OF_ADA }, begun);
    expect(getQueries(recalls)).toEqual(['tea']);
  });

  it('remembers no recall that was running while notices were missed, or more scopes were forgotten than are known', () => {
    const recalls = new RememberedRecalls();
    const begun = recalls.begin();
    recalls.forgetAll();
    recalls.add('home', RECALL, begun);
    const [early, late] = [recalls.begin(), recalls.begin() + 1];
    for (let i = 0; i <= 100; i++) recalls.forget({ namespace: 'home', userId: `user ${i}` });
    recalls.add('home', { ...RECALL, query: 'early' }, early);
    recalls.add('home', { ...RECALL, query: 'late' }, late);
    expect(getQueries(recalls)).toEqual(['late']);
  });

  it('remembers a recall that was running when its namespace was dropped at the limit', () => {
    const recalls = new RememberedRecalls({ bytes: 20_000, namespaces: 1 });
    recalls.add('home', RECALL);
    const begun = recalls.begin();
    recalls.add('work', RECALL);
    recalls.add('home', { ...RECALL, query: 'running' }, begun);
    expect(getQueries(recalls)).toEqual(['running']);
  });

  it('finds a recall by the last of a thousand results', () => {
    const recalls = new RememberedRecalls();
    recalls.add('home', { ...RECALL, results: Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}` })) });
    expect(recalls.list('home', {}, 'm999')).toHaveLength(1);
    expect(recalls.list('home', {}, 'm1000')).toEqual([]);
  });

  it('counts all results of a recall at the limit of bytes', () => {
    const recalls = new RememberedRecalls({ bytes: 250_000, namespaces: 10 });
    const results = Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}` }));
    for (const query of ['one', 'two', 'three']) recalls.add('home', { ...RECALL, query, results });
    expect(getQueries(recalls)).toEqual(['three', 'two']);
  });

  it.each([
    ['a user', { userId: 'ada' }, ['ben', 'all']],
    ['a session', { sessionId: 's' }, ['ben', 'ada', 'all']],
    ['the whole namespace', {}, []],
  ])('forgets the recalls of %s, and no others', (_of, scope, left) => {
    const recalls = new RememberedRecalls();
    recalls.add('home', { ...RECALL, query: 'all' });
    recalls.add('home', { ...RECALL, query: 'ada', ...OF_ADA });
    recalls.add('home', { ...RECALL, query: 'ada in s', ...OF_ADA, sessionId: 's' });
    recalls.add('home', { ...RECALL, query: 'ben', of: { userIds: ['ben'] } });
    recalls.add('work', { ...RECALL, query: 'elsewhere', ...OF_ADA });
    recalls.forget({ namespace: 'home', ...scope });
    expect(getQueries(recalls)).toEqual(left);
    expect(getQueries(recalls, 'work')).toEqual(['elsewhere']);
  });
});
