/** Returns the message of an error. Converts any other thrown value to a string. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
