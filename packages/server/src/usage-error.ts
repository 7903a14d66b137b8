/**
 * A command, an option, a setting or an input that cannot be used. The message is one line that names it and what it must
 * be.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
