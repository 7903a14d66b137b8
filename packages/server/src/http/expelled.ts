import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from './access.ts';

/** How often it is looked whether a caller may still call. */
const LOOKED_EVERY_MS = 500;

/**
 * Calls back with the error that refuses a caller who may call no longer, such as the holder of a key that was revoked;
 * never after the answer has ended. It is for answers that take as long as their callers like.
 */
export function whenExpelled(
  gate: Gate,
  request: FastifyRequest,
  { raw }: FastifyReply,
  expelled: (error: unknown) => void,
): void {
  // Who has gone already says so no more.
  if (raw.destroyed) return;
  const looking = setInterval(() => {
    gate.admit(request).catch((error) => {
      stopLooking();
      if (!raw.destroyed) expelled(error);
    });
  }, LOOKED_EVERY_MS);
  const stopLooking = () => clearInterval(looking);
  raw.once('close', stopLooking);
}
