// Plain JavaScript, so that it loads before anything is built and on every Node.

const MIN_NODE = '22.12';

/**
 * Returns a sentence if this Node is too old for memoryd, else undefined.
 *
 * @param {string} version a version of Node, such as `24.1.0`; that of this process by default
 * @returns {string | undefined}
 */
export function explainOldNode(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const [minMajor, minMinor] = MIN_NODE.split('.').map(Number);
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return undefined;
  return `memoryd needs Node 22 (${MIN_NODE} or newer), 24 or 26; this is Node ${version}`;
}
