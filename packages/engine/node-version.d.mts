/**
 * Returns a sentence if this Node is too old for memoryd, else undefined.
 *
 * @param version a version of Node, such as `24.1.0`; that of this process by default
 */
export declare function explainOldNode(version?: string): string | undefined;
