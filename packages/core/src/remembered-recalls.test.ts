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
