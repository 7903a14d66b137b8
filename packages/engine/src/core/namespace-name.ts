import { assertValid, checkOf, invalidRequest, isKeepable, NewKey } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';

const check = checkOf(Type.Pick(NewKey, ['namespace']), 'caller');

/** Throws INVALID_REQUEST for a name that no API key could be made for. */
export function assertNamespace(namespace: string): void {
  assertValid(check, { namespace });
}

/** Throws INVALID_REQUEST for a name that no database can keep. Earlier databases may have others that no key is made for. */
export function assertKeepableNamespace(namespace: string): void {
  if (isKeepable(namespace)) return;
  throw invalidRequest([{ path: '/namespace', message: 'namespace must not contain U+0000 or a lone surrogate' }]);
}
