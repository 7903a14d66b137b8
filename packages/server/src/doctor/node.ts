import { explainOldNode } from '@memoryd/engine/node-version';
import type { Finding } from './finding.ts';

/** Checks that this version of Node is supported. */
export function checkNode(version = process.versions.node): Finding {
  const found = explainOldNode(version);
  if (found === undefined) return { check: 'node', state: 'ok', found: `Node ${version}` };
  return { check: 'node', state: 'problem', found, advice: 'install Node 24' };
}
