import type { Explanation, RecallResult } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { getOrders } from './orders.ts';

function newResult(content: string, evidence: Partial<Explanation['evidence']>): RecallResult {
  const weights = { words: 1, meaning: 0.5, brevity: -0.1 };
  return { content, explanation: { evidence, weights } as Explanation } as RecallResult;
}

it('getOrders sorts results by each kind of evidence, in the direction of its weight, and by sums of evidence', () => {
  const results = [
    newResult('a', { words: 0.5, meaning: 0.4, brevity: 1 }),
    newResult('b', { words: 0.2, meaning: 0.6, brevity: 0 }),
    newResult('c', { words: 0.5, meaning: 0.5, brevity: 0 }),
  ];
  const orders = Object.entries(getOrders(results)).map(([name, order]) => [
    name,
    order.map(({ content }) => content).join(''),
  ]);
  expect(Object.fromEntries(orders)).toEqual({
    words: 'acb',
    meaning: 'bca',
    brevity: 'bca',
    'words + meaning': 'cab',
    'words² + meaning': 'cab',
  });
});

it('getOrders returns an empty object without results', () => {
  expect(getOrders([])).toEqual({});
});
