import { LEAST_NODE } from '../version.ts';
import type { Finding } from './finding.ts';

/** Whether Node is new enough. */
export function checkNode(version = process.versions.node): Finding {
  if (isAtLeast(version, LEAST_NODE)) return { check: 'node', state: 'ok', found: `Node ${version}` };
  const found = `Node ${version} is older than ${LEAST_NODE}`;
  return { check: 'node', state: 'problem', found, advice: `install Node ${LEAST_NODE} or newer` };
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major > leastMajor || (major === leastMajor && minor >= leastMinor);
}
