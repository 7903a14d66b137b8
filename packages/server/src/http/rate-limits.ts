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

/** Counts something that a request does; RATE_LIMITED where that is too much. */
export type Count = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

interface RateLimits {
  /** Another request, for one that holds several. */
  countAnother: Count;
  /** A wrong key, by its address. */
  countWrongKey: Count;
}

/**
 * Limits the requests a minute that each API key makes, in this process. Requests without a key are not limited. To be
 * called before routes are added.
 *
 * @param most requests a minute; 0 is any number
 */
export async function limitRates(app: App, most: number): Promise<RateLimits> {
  const tooMany = `a key may make ${most} requests a minute; see Retry-After`;
  await app.register(rateLimit, {
    max: most,
    timeWindow: WINDOW_MS,
    cache: LIMITS.keys,
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller.keyId ?? '',
    allowList: ({ caller }) => most === 0 || caller.keyId === undefined,
    errorResponseBuilder: () => new MemoryError('RATE_LIMITED', tooMany),
  });
  const ofAddress = app.createRateLimit({
    max: WRONG_KEYS,
    timeWindow: WINDOW_MS,
    keyGenerator: ({ ip }) => rateLimit.normalizeIP(ip),
    allowList: [],
  });
  return {
    countAnother: counting(app.createRateLimit(), tooMany),
    countWrongKey: counting(ofAddress, 'too many unknown or revoked API keys were shown; see Retry-After'),
  };
}

function counting(limit: ReturnType<App['createRateLimit']>, tooMany: string): Count {
  return async (request, reply) => {
    const counted = await limit(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    reply.header('Retry-After', counted.ttlInSeconds);
    throw new MemoryError('RATE_LIMITED', tooMany);
  };
}
