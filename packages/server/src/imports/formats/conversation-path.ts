/** A message in the tree of a conversation. */
export interface PathNode {
  /** The id of the message before it; undefined for the first one. */
  parent: string | undefined;
  /** Time of the message in any unit, if known. */
  time: number | undefined;
}

/**
 * Returns the messages of the branch that a conversation shows, from the first to the last. Without a known last message,
 * it is the newest one that nothing follows. Cycles and missing parents end the branch.
 *
 * @param nodes the messages by their ids, in the order of the file
 */
export function getConversationPath<Node extends PathNode>(nodes: ReadonlyMap<string, Node>, last: unknown): Node[] {
  let node = (typeof last === 'string' ? nodes.get(last) : undefined) ?? getNewestLeaf(nodes);
  const path = new Set<Node>();
  while (node && !path.has(node)) {
    path.add(node);
    node = node.parent === undefined ? undefined : nodes.get(node.parent);
  }
  return [...path].reverse();
}

/** Returns the newest message without a following one; of equal ones, the last in the file. */
function getNewestLeaf<Node extends PathNode>(nodes: ReadonlyMap<string, Node>): Node | undefined {
  const parents = new Set<string | undefined>();
  for (const { parent } of nodes.values()) parents.add(parent);
  let newest: Node | undefined;
  let last: Node | undefined;
  for (const [id, node] of nodes) {
    last = node;
    if (!parents.has(id) && (node.time ?? -Infinity) >= (newest?.time ?? -Infinity)) newest = node;
  }
  return newest ?? last;
}
