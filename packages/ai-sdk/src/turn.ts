/**
 * Names a turn of a conversation by all that was said before its answer, so that another call for the same turn is known as
 * one, by whichever process: the SHA-256, in hexadecimal digits.
 */
export async function digestOfTurn(sessionId: string, said: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([sessionId, ...said]));
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
