import rateLimit from '@fastify/rate-limit';
import { LIMITS, MemoryError } from '@memoryd/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './routes/route.ts';

const WINDOW_MS = 60_000;

/**
 * Wrong keys that one address, of IPv6 one network of 64 bits, may show a minute; then it is told to wait. Counts are kept
 * of the last 5,000 addresses that showed one.
 */
const WRONG_KEYS = 100;

/** Says that a request showed a wrong key; RATE_LIMITED where its address has shown too many. */
export type NoteWrongKey = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Limits the requests a minute that each API key makes, in this process. Requests without a key are not limited. To be
 * called before routes are added.
 *
 * @param most requests a minute; 0 is any number
 */
export async function limitRates(app: App, most: number): Promise<NoteWrongKey> {
  await app.register(rateLimit, {
    max: most,
    timeWindow: WINDOW_MS,
    cache: LIMITS.keys,
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller.keyId ?? '',
    allowList: ({ caller }) => most === 0 || caller.keyId === undefined,
    errorResponseBuilder: () =>
      new MemoryError('RATE_LIMITED', `a key may make ${most} requests a minute; see Retry-After`),
  });
  const countWrongKey = app.createRateLimit({
    max: WRONG_KEYS,
    timeWindow: WINDOW_MS,
    keyGenerator: ({ ip }) => rateLimit.normalizeIP(ip),
    allowList: [],
  });
  return async (request, reply) => {
    const counted = await countWrongKey(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    reply.header('Retry-After', counted.ttlInSeconds);
    throw new MemoryError('RATE_LIMITED', 'too many unknown or revoked API keys were shown; see Retry-After');
  };
}
