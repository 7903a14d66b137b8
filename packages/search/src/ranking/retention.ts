const DAY_MS = 86_400_000;

/**
 * Minimum age. Ages below one hour are treated as one hour, so that a very recent use does not dominate the activation.
 */
const MIN_AGE_DAYS = 1 / 24;

/** Age in days at which a memory of importance .5 without uses has a retention of .5. */
const EVEN_AGE_DAYS = 30;

/** Noise of activation; models of human memory use .2 to .5 (Anderson et al. 2004). */
const NOISE = 0.4;

/**
 * Difference in activation between importance 1 and importance 0. A memory without uses then has a retention of .5 at
 * an age of about 220 days for importance 1, and of about 4 days for importance 0.
 */
const IMPORTANCE_SPAN = 2;

/** The inputs of retention. Times are milliseconds since 1970. */
export interface Retainable {
  /** From 0 to 1; the default is .5. */
  importance: number;
  storedAt: number;
  /** Number of uses by recall. */
  accessCount: number;
  /** Time of the last use by recall; null without uses. */
  accessedAt: number | null;
}

/**
 * Returns the probability that a memory is still useful, from 0 to 1. Retention decreases with time as a power law, and
 * increases with use and importance. The formula is ACT-R's probability of retrieval, `1 / (1 + exp((threshold -
 * activation) / noise))` (Anderson et al. 2004, "An integrated theory of the mind", equations 2 and 4), of the
 * base-level activation
 *
 *   ln(sum over uses of age ^ -d),   d = .5, ages in days
 *
 * which models how human memory follows the frequency and recency of need in the environment (Anderson and Schooler
 * 1991, "Reflections of the environment in memory"). Storing is the first use. Only the number of uses and the last use
 * are known, so the others are assumed evenly spread over the lifetime (Petrov 2006, "Computationally efficient
 * approximation of the base-level learning equation in ACT-R", with the latest use exact), which for d = .5 is
 *
 *   last ^ -.5 + 2 (uses - 1) / (lifetime ^ .5 + last ^ .5)
 *
 * Importance is added to the activation. A memory with a time in the future, stored before the clock was set back, is
 * treated as new.
 */
export function getRetention({ importance, storedAt, accessCount, accessedAt }: Retainable, now: number): number {
  const lifetime = getAgeDays(storedAt, now);
  // A merged duplicate may have been used before this memory was stored.
  const last = Math.min(lifetime, getAgeDays(accessedAt ?? storedAt, now));
  const strength = 1 / Math.sqrt(last) + (2 * accessCount) / (Math.sqrt(lifetime) + Math.sqrt(last));
  const activation = Math.log(strength) + IMPORTANCE_SPAN * (importance - 0.5);
  const threshold = -Math.log(EVEN_AGE_DAYS) / 2;
  return 1 / (1 + Math.exp((threshold - activation) / NOISE));
}

/** Recall rounds retention to multiples of 1/RETENTION_STEPS. */
export const RETENTION_STEPS = 1000;

/** Minimum retention that rounds to 1. If a memory reaches this value without uses, uses do not change its score. */
export const WHOLE_RETENTION = 1 - 0.5 / RETENTION_STEPS;

function getAgeDays(since: number, now: number): number {
  return Math.max(MIN_AGE_DAYS, (now - since) / DAY_MS);
}
