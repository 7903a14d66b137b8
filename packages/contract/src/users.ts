import { NamespaceQuota, usageFields } from './access.ts';
import { Count, Cursor, Limit, NextCursor, timestamp, UserId } from './field.ts';
import { TierCounts } from './stats.ts';
import Type from './typebox.ts';

/** Lists the users that have stored data in the namespace, ordered by id, one page at a time. */
export const UsersRequest = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
export type UsersRequest = Type.Static<typeof UsersRequest>;

/** A user, with counts of recallable memories by tier and the usage that counts against quotas. */
export const UserSummary = Type.Object({
  user_id: UserId,
  ...TierCounts.properties,
  ...usageFields,
  last_stored_at: timestamp("Last storage time of the user's memories, including memories that were forgotten later."),
});
export type UserSummary = Type.Static<typeof UserSummary>;

export const UsersResponse = Type.Object({
  users: Type.Array(UserSummary, { description: 'Ordered by `user_id`.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type UsersResponse = Type.Static<typeof UsersResponse>;

export const UserPath = Type.Object({ user_id: UserId });
export const UserQuotaResponse = Type.Object({ user_id: UserId, quota: NamespaceQuota });
