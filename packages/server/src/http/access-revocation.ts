import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from './access.ts';

/** Interval for checking that a caller is still authorized. */
const CHECK_INTERVAL_MS = 500;

/**
 * Calls `onRevoked` with the error if the caller loses its access during a response, for example because its key was
 * revoked, or if the keys cannot be read. Never called after the response has ended. For responses of unlimited
 * duration.
 */
export function onAccessRevoked(
  gate: Gate,
  request: FastifyRequest,
  { raw }: FastifyReply,
  onRevoked: (error: unknown) => void,
): void {
  // The client has already disconnected; `close` will not fire again.
  if (raw.destroyed) return;
  const timer = setInterval(() => {
    gate.admit(request).catch((error) => {
      stopChecking();
      if (!raw.destroyed) onRevoked(error);
    });
  }, CHECK_INTERVAL_MS);
  const stopChecking = () => clearInterval(timer);
  raw.once('close', stopChecking);
}
