/** What whatever was thrown says of itself. */
export function getMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
