import { expect, it } from 'vitest';
import { LEAST_NODE } from '../version.ts';
import { checkNode } from './node.ts';

it.each([LEAST_NODE, '20.19.0', '20.20.1', '24.0.0'])('Node %s is new enough', (version) => {
  expect(checkNode(version)).toMatchObject({ state: 'ok', found: `Node ${version}` });
});

it.each(['20.18.3', '18.99.0', '9.20.0'])('Node %s is too old', (version) => {
  expect(checkNode(version)).toMatchObject({ state: 'problem', advice: `install Node ${LEAST_NODE} or newer` });
});
