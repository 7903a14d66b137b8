const DAY_MS = 86_400_000;

/** What is younger counts as an hour old: a memory is not yet fading, and being asked for at once says little. */
const MIN_AGE_DAYS = 1 / 24;

/** Age, in days, at which a memory of middling importance that nobody asked for is retained with even odds. */
const EVEN_AGE_DAYS = 30;

/** Noise of activation; models of people's memory have .2 to .5 (Anderson et al. 2004). */
const NOISE = 0.4;

/** What the largest importance adds to activation over the smallest: lifetimes from 4 to 220 days where 30 are even. */
const IMPORTANCE_SPAN = 2;

/** What retention rests on. Times are milliseconds since 1970. */
export interface Retainable {
  /** From 0 to 1; .5 is middling. */
  importance: number;
  storedAt: number;
  /** How often it was given out, and when last. */
  accessCount: number;
  accessedAt: number | null;
}

/**
 * How likely a memory is still to be of use, from 0 to 1: it falls with time as a power of it, and rises with use and
 * importance. ACT-R's probability of retrieval, `1 / (1 + exp((threshold - activation) / noise))` (Anderson et al. 2004,
 * "An integrated theory of the mind", equations 2 and 4), of the base-level activation
 *
 *   ln(sum over uses of age ^ -d),   d = .5, ages in days
 *
 * after which people's memory follows how often and how lately their surroundings ask for something (Anderson and
 * Schooler 1991, "Reflections of the environment in memory"). Storing is the first use. Since only the number of uses
 * and the last of them are known, the rest count as spread evenly over the lifetime (Petrov 2006, "Computationally
 * efficient approximation of the base-level learning equation in ACT-R", with the latest use exact), which for d = .5 is
 *
 *   last ^ -.5 + 2 (uses - 1) / (lifetime ^ .5 + last ^ .5)
 *
 * Importance is added to the activation. A memory that lies ahead, stored before the clock was set back, is as new.
 */
export function getRetention({ importance, storedAt, accessCount, accessedAt }: Retainable, now: number): number {
  const lifetime = ageDays(storedAt, now);
  // A duplicate that was merged into this memory may have been asked for before this one was stored.
  const last = Math.min(lifetime, ageDays(accessedAt ?? storedAt, now));
  const strength = 1 / Math.sqrt(last) + (2 * accessCount) / (Math.sqrt(lifetime) + Math.sqrt(last));
  const activation = Math.log(strength) + IMPORTANCE_SPAN * (importance - 0.5);
  const threshold = -Math.log(EVEN_AGE_DAYS) / 2;
  return 1 / (1 + Math.exp((threshold - activation) / NOISE));
}

/** Recall tells retention to a thousandth. */
export const RETENTION_STEPS = 1000;

/** From which on it is told as whole: what is so new that nobody need have asked for it, no use makes any newer. */
export const WHOLE_RETENTION = 1 - 0.5 / RETENTION_STEPS;

function ageDays(since: number, now: number): number {
  return Math.max(MIN_AGE_DAYS, (now - since) / DAY_MS);
}
