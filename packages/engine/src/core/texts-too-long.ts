import { MemoryError } from '@memoryd/contract/errors';
import { LIMITS } from '@memoryd/contract/limits';

/** The error that whoever exports is given where one memory has had more text than a line holds. */
export function textsTooLong(id: string): MemoryError {
  const most = `${LIMITS.exportLineBytes} bytes`;
  return new MemoryError('UNAVAILABLE', `all texts of memory ${id} are more than the ${most} of a line; make a backup`);
}
