import { expect, it } from 'vitest';
import { checkNode } from './node.ts';

it.each(['22.12.0', '22.23.3', '24.0.0', '26.10.0'])('memoryd doctor accepts Node %s', (version) => {
  expect(checkNode(version)).toMatchObject({ state: 'ok', found: `Node ${version}` });
});

it.each(['22.11.9', '20.20.2', '9.20.0'])('memoryd doctor reports that Node %s is too old', (version) => {
  expect(checkNode(version)).toMatchObject({
    state: 'problem',
    found: `memoryd needs Node 22 (22.12 or newer), 24 or 26; this is Node ${version}`,
  });
});
