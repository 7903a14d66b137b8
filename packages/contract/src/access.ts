import { LIMITS } from './limits.ts';
import Type from './typebox.ts';

/** What a caller may do, from least to most; each also may what those before it may. */
export const SCOPES = ['read', 'write', 'operate'] as const;
export type Scope = (typeof SCOPES)[number];

/** Whether who has one scope may do what asks for another. */
export function covers(has: Scope, needed: Scope): boolean {
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
      description: 'What its holder may do: `read`; `write`, which is also to read; `operate`, which is everything.',
      'x-must': `be one of ${SCOPES.join(', ')}`,
    }),
  },
  { additionalProperties: false },
);
export type NewKey = Type.Static<typeof NewKey>;

const Most = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
  'x-must': 'be a whole number from 0, which is any number, or null, which is what all may',
});

/** What a namespace may hold by a word of its own. */
export const NamespaceQuota = Type.Object({ memories: Most, bytes: Most }, { additionalProperties: false });
export type NamespaceQuota = Type.Static<typeof NamespaceQuota>;
