/**
 * Creates a random idempotency key of 32 hexadecimal digits. `crypto.randomUUID` is available only in secure contexts,
 * which an HTTP page on a local network is not.
 */
export function createIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
