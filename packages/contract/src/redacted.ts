import Type from './typebox.ts';

/** Secrets of one kind that were removed from a request. */
export const RedactedSecrets = Type.Object({
  kind: Type.String({
    description: 'The kind of secret, such as `github-token`. Each secret was replaced with `[redacted:KIND]`.',
  }),
  count: Type.Integer({ minimum: 1 }),
});
export type RedactedSecrets = Type.Static<typeof RedactedSecrets>;

/** The field `redacted` of a response to a write. */
export const Redacted = Type.Optional(
  Type.Array(RedactedSecrets, {
    description: 'Secrets that were removed before anything was stored, by kind. Absent if no secret was found.',
  }),
);
