import { assertValid, checkOf, NewKey } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';

const check = checkOf(Type.Pick(NewKey, ['namespace']), 'caller');

/** Throws INVALID_REQUEST for a name that no API key could be made for. */
export function assertNamespace(namespace: string): void {
  assertValid(check, { namespace });
}
