import { AgentId, Count, orNull, requestTime, Timestamp, UserId } from './field.ts';
import { LIMITS } from './limits.ts';
import { TierCounts } from './stats.ts';
import Type from './typebox.ts';
import { assertValid, createCheck } from './validate.ts';

/**
 * Scopes of API keys. `metrics` allows only reading metrics. `write` includes `read`. `operate` includes all other
 * scopes.
 */
export const SCOPES = ['metrics', 'read', 'write', 'operate'] as const;
export const Scope = Type.Enum([...SCOPES], {
  description:
    'Permissions of the key. `metrics`: read metrics only. `read`: read memories. `write`: read and write memories. `operate`: everything.',
  'x-must': `be one of ${SCOPES.join(', ')}`,
});
export type Scope = Type.Static<typeof Scope>;

/** Returns true if the scope of a caller permits an operation that needs the scope `needed`. */
export function covers(has: Scope, needed: Scope): boolean {
  if (has === 'metrics' || needed === 'metrics') return has === needed || has === 'operate';
  return SCOPES.indexOf(has) >= SCOPES.indexOf(needed);
}

/** Request to create an API key. */
export const NewKey = Type.Object(
  {
    namespace: Type.String({
      pattern: `^[\\p{L}\\p{M}\\p{N}._:@/+-]{1,${LIMITS.namespaceChars}}$`,
      description: 'The namespace that the key gives access to. A namespace is created on first use.',
      'x-must': `be a string of 1 to ${LIMITS.namespaceChars} letters, digits or characters from . _ : @ / + -`,
    }),
    scope: Scope,
    // Null is refused: a key without an owner can access everybody, so an owner must not get lost.
    user_id: Type.Optional(
      Type.String({
        ...UserId,
        description:
          'Restrict the key to memories of this user. If absent, the key can access all users of the namespace.',
      }),
    ),
    agent_id: Type.Optional(
      Type.String({
        ...AgentId,
        description:
          'Restrict the key to memories of this agent. If absent, the key can access all agents of the namespace.',
      }),
    ),
    name: orNull(
      Type.String({
        maxLength: LIMITS.keyNameChars,
        description: 'A name that helps operators recognize the key.',
        'x-must': `be a string of at most ${LIMITS.keyNameChars} characters`,
      }),
    ),
    expires_at: orNull(requestTime('Time at which the key expires. If absent, it never expires.')),
  },
  { additionalProperties: false },
);
export type NewKey = Type.Static<typeof NewKey>;

const checkNamespace = createCheck(Type.Pick(NewKey, ['namespace']), 'caller');

/** Throws INVALID_REQUEST for a name that is not allowed for new API keys. */
export function assertNamespace(namespace: string): void {
  assertValid(checkNamespace, { namespace });
}

const KeyId = Type.String({ description: 'The public id of the key.', 'x-must': 'be a string, the id of a key' });

/** An API key without its secret. */
export const ApiKey = Type.Object({
  id: KeyId,
  namespace: Type.String(),
  scope: Scope,
  user_id: Type.Optional(Type.String({ ...UserId, description: 'The user that the key is restricted to.' })),
  agent_id: Type.Optional(Type.String({ ...AgentId, description: 'The agent that the key is restricted to.' })),
  name: Type.String({ description: 'Empty if the key has no name.' }),
  created_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()], { description: 'Null if the key does not expire.' }),
  last_used_at: Type.Union([Timestamp, Type.Null()], {
    description: 'Accurate to five minutes. Null if the key was never used.',
  }),
  revoked_at: Type.Union([Timestamp, Type.Null()], { description: 'Null if the key has not been revoked.' }),
});
export type ApiKey = Type.Static<typeof ApiKey>;

export const ApiKeysResponse = Type.Object({
  keys: Type.Array(ApiKey, { description: 'In order of creation, including revoked keys.' }),
});

/** A new API key with its secret. */
export const ApiKeyWithSecret = Type.Object({
  ...ApiKey.properties,
  key: Type.String({ description: 'The secret to send with requests. It is shown only once.' }),
});
export type ApiKeyWithSecret = Type.Static<typeof ApiKeyWithSecret>;

export const KeyPath = Type.Object({ id: KeyId });
export const RevokeKeyResponse = Type.Object({ id: KeyId, status: Type.Literal('revoked') });

const QuotaLimit = Type.Union([Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()], {
  'x-must': `be a whole number from 0 (no limit) to ${Number.MAX_SAFE_INTEGER}, or null (the default)`,
});

/** Quota of a namespace or of one of its users. */
export const NamespaceQuota = Type.Object({ memories: QuotaLimit, bytes: QuotaLimit }, { additionalProperties: false });
export type NamespaceQuota = Type.Static<typeof NamespaceQuota>;

/** Usage that counts against quotas, and the quota. */
export const usageFields = {
  memories: Type.Integer({
    minimum: 0,
    description: 'Number of memories that clients stored and that were not forgotten, including hidden memories.',
  }),
  bytes: Type.Integer({
    minimum: 0,
    description: 'UTF-8 size in bytes of the texts that clients stored, including earlier texts and attachments.',
  }),
  quota: NamespaceQuota,
};

const NamespaceName = Type.String({
  description: 'The name of the namespace.',
  'x-must': 'be a string, the name of a namespace',
});
export const NamespacePath = Type.Object({ name: NamespaceName });

/**
 * Summary of a namespace for operators: counts of recallable memories by tier, and the usage that counts against
 * quotas.
 */
export const NamespaceSummary = Type.Object({
  name: NamespaceName,
  ...TierCounts.properties,
  ...usageFields,
  keys: Type.Integer({ minimum: 0, description: 'Number of API keys that have not been revoked.' }),
});
export type NamespaceSummary = Type.Static<typeof NamespaceSummary>;

export const NamespacesResponse = Type.Object({
  namespaces: Type.Array(NamespaceSummary, { description: 'Ordered by name.' }),
});
export const QuotaResponse = Type.Object({ name: NamespaceName, quota: NamespaceQuota });
export const DeleteNamespaceResponse = Type.Object({
  name: NamespaceName,
  status: Type.Literal('deleted'),
  deleted_count: Count,
  purge: Type.Optional(Type.Literal('pending', { description: 'Present while deleted bytes may still be on disk.' })),
});
