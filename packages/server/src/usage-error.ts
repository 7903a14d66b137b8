/**
 * An error in a command, an option, a setting or an input. The message is one line that names the value and its rule.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
