import Type from './typebox.ts';

/** Secrets of one kind that were taken out of what a client sent. */
export const RedactedSecrets = Type.Object({
  kind: Type.String({ description: 'Such as `github-token`; each was replaced by `[redacted:KIND]`.' }),
  count: Type.Integer({ minimum: 1 }),
});
export type RedactedSecrets = Type.Static<typeof RedactedSecrets>;

/** What an answer to a write tells of them. */
export const Redacted = Type.Optional(
  Type.Array(RedactedSecrets, {
    description: 'Secrets that were taken out before anything was kept, by kind; absent where none was found.',
  }),
);
