import { AgentId, Count, orNull, requestTime, Timestamp, UserId } from './field.ts';
import { LIMITS } from './limits.ts';
import { TierCounts } from './stats.ts';
import Type from './typebox.ts';

/** What a caller may do. `metrics` may read metrics only; of the others, each may also do what those before it may. */
export const SCOPES = ['metrics', 'read', 'write', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether a caller of one scope may do what needs another. */
export function covers(has: Scope, needed: Scope): boolean {
  if (has === 'metrics' || needed === 'metrics') return has === needed || has === 'operate';
  return SCOPES.indexOf(has) >= SCOPES.indexOf(needed);
}

/** What an API key is made for. */
export const NewKey = Type.Object(
  {
    namespace: Type.String({
      pattern: `^[\\p{L}\\p{M}\\p{N}._:@/+-]{1,${LIMITS.namespaceChars}}$`,
      description: 'The namespace that its holder sees; one exists as soon as it is named.',
      'x-must': `be a name of 1 to ${LIMITS.namespaceChars} letters, digits and the signs . _ : @ / + -`,
    }),
    scope: Type.Enum([...SCOPES], {
      description:
        'What its holder may do: `metrics`, which is to read metrics and nothing else; `read`; `write`, which is also to read; `operate`, which is everything.',
      'x-must': `be one of ${SCOPES.join(', ')}`,
    }),
    user_id: orNull(
      Type.String({
        ...UserId,
        description: 'The only user whose memories its holder sees and stores; any user of the namespace if absent.',
      }),
    ),
    agent_id: orNull(
      Type.String({
        ...AgentId,
        description: 'The only agent whose memories its holder sees and stores; any agent of the namespace if absent.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        maxLength: LIMITS.keyNameChars,
        description: 'What or whom the key is for, as an operator will look for it.',
        'x-must': `be a text of at most ${LIMITS.keyNameChars} characters`,
      }),
    ),
    expires_at: orNull(requestTime('When the key expires; never if absent.')),
  },
  { additionalProperties: false },
);
export type NewKey = Type.Static<typeof NewKey>;

const KeyId = Type.String({ description: 'The public id of the key.', 'x-must': 'be the id of a key' });

/** An API key without its secret. */
export const ApiKey = Type.Object({
  id: KeyId,
  namespace: Type.String(),
  scope: Type.Enum([...SCOPES]),
  user_id: Type.Optional(Type.String({ ...UserId, description: 'The user that the key is bound to.' })),
  agent_id: Type.Optional(Type.String({ ...AgentId, description: 'The agent that the key is bound to.' })),
  name: Type.String({ description: 'Empty if it was given none.' }),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()], { description: 'Null if the key does not expire.' }),
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'To within five minutes; null if the key was never used.',
  }),
  revoked_at: Type.Union([Timestamp, Type.Null()], { description: 'Null while the key is good.' }),
});
export type ApiKey = Type.Static<typeof ApiKey>;

export const ApiKeysResponse = Type.Object({
  keys: Type.Array(ApiKey, { description: 'In the order in which they were made, revoked ones included.' }),
});

/** A key that was just made, with its text. */
export const MadeKey = Type.Object({
  ...ApiKey.properties,
  key: Type.String({ description: 'The text that its holder sends; it is not shown again.' }),
});
export type MadeKey = Type.Static<typeof MadeKey>;

export const KeyPath = Type.Object({ id: KeyId });
export const RevokedKey = Type.Object({ id: KeyId, status: Type.Literal('revoked') });

const QuotaLimit = Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()], {
  'x-must': `be a whole number from 0 (no limit) to ${Number.MAX_SAFE_INTEGER}, or null (the default)`,
});

/** The quota that was set for a namespace, or for one of its users. */
export const NamespaceQuota = Type.Object({ memories: QuotaLimit, bytes: QuotaLimit }, { additionalProperties: false });
export type NamespaceQuota = Type.Static<typeof NamespaceQuota>;

/** What counts against quotas, and the quota that was set. */
export const usageFields = {
  memories: Type.Integer({
    minimum: 0,
    description: 'Memories that clients stored and nobody has erased, hidden ones included.',
  }),
  bytes: Type.Integer({
    minimum: 0,
    description: 'Bytes of the texts that clients gave them, in UTF-8, earlier ones included.',
  }),
  quota: NamespaceQuota,
};

const NamespaceName = Type.String({
  description: 'The name of the namespace.',
  'x-must': 'be the name of a namespace',
});
export const NamespacePath = Type.Object({ name: NamespaceName });

/** A namespace as an operator sees it: live memories by tier, and what counts against quotas. */
export const NamespaceSummary = Type.Object({
  name: NamespaceName,
  ...TierCounts.properties,
  ...usageFields,
  keys: Type.Integer({ minimum: 0, description: 'API keys that have not been revoked.' }),
});
export type NamespaceSummary = Type.Static<typeof NamespaceSummary>;

export const NamespacesResponse = Type.Object({
  namespaces: Type.Array(NamespaceSummary, { description: 'By name.' }),
});
export const QuotaResponse = Type.Object({ name: NamespaceName, quota: NamespaceQuota });
export const DeletedNamespace = Type.Object({
  name: NamespaceName,
  status: Type.Literal('deleted'),
  deleted_count: Count,
  purge: Type.Optional(Type.Literal('pending', { description: 'There while the old bytes may still be on disk.' })),
});
