import rateLimit from '@fastify/rate-limit';
import { LIMITS, MemoryError } from '@memoryd/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './routes/route.ts';

const WINDOW_MS = 60_000;

/**
 * Maximum requests with an unknown key per minute from one address (for IPv6, one /64 network). Counts are stored for
 * the last 5,000 such addresses.
 */
const MAX_UNKNOWN_KEYS = 100;

/** Counts a request against a rate limit. Throws RATE_LIMITED if the limit is exceeded. */
export type Count = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

interface RateLimits {
  /** Counts an additional operation inside one HTTP request. */
  countExtraRequest: Count;
  /** Counts an unknown key against the limit of the client's address. */
  countUnknownKey: Count;
}

/**
 * Limits the requests per minute of each API key, in this process. Requests without a key are not limited. Must be
 * called before routes are added.
 *
 * @param maxPerMinute requests per minute; 0 is unlimited
 */
export async function limitRates(app: App, maxPerMinute: number): Promise<RateLimits> {
  const tooMany = `an API key may make at most ${maxPerMinute} requests per minute; wait as long as Retry-After says`;
  await app.register(rateLimit, {
    max: maxPerMinute,
    timeWindow: WINDOW_MS,
    cache: LIMITS.keys,
    enableDraftSpec: true,
    keyGenerator: ({ caller }) => caller.keyId ?? '',
    allowList: ({ caller }) => maxPerMinute === 0 || caller.keyId === undefined,
    errorResponseBuilder: () => new MemoryError('RATE_LIMITED', tooMany),
  });
  const addressLimit = app.createRateLimit({
    max: MAX_UNKNOWN_KEYS,
    timeWindow: WINDOW_MS,
    keyGenerator: ({ ip }) => rateLimit.normalizeIP(ip),
    allowList: [],
  });
  return {
    countExtraRequest: createCounter(app.createRateLimit(), tooMany),
    countUnknownKey: createCounter(
      addressLimit,
      'too many requests with unknown or revoked API keys; wait as long as Retry-After says',
    ),
  };
}

function createCounter(limit: ReturnType<App['createRateLimit']>, tooMany: string): Count {
  return async (request, reply) => {
    const counted = await limit(request);
    if (counted.isAllowed || !counted.isExceeded) return;
    reply.header('Retry-After', counted.ttlInSeconds);
    throw new MemoryError('RATE_LIMITED', tooMany);
  };
}
