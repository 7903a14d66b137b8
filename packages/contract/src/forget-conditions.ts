/** The rule for the conditions of a bulk forget, as `x-must` of its schema. */
export const MUST_HAVE_CONDITION =
  'contain at least one of user_id, agent_id, id, session_id, tag, source, external_id, metadata, filter, before';

/** The rule for the conditions of a change of many memories, as `x-must` of its schema. */
export const SELECTION_MUST =
  'contain at least one of user_id, agent_id, ids, session_id, tag, source, external_id, metadata, filter, q, tier, since, until';

/** Returns false for a request that selects every memory, such as `{ filter: {} }` or `{ tag: undefined }`. */
export function hasForgetCondition(request: object): boolean {
  const { shared: _, ...conditions }: { shared?: boolean | undefined } = request;
  return Object.values(conditions).some((value) => !isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}
