/** Returns the message of a thrown value. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
