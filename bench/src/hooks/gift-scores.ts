import { estimateTokens } from '@memoryd/contract';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { getPercentile } from '../percentile.ts';
import type { KnownMemory } from './known-memories.ts';
import type { Owner } from './prompt-hook.ts';

/** The context that a hook gave to one prompt, and the labels of the prompt. */
export interface Gift {
  owner: Owner;
  sessionId: string;
  context: string;
  /** The memories of the context; undefined for a text that is no known memory. */
  memories: readonly (KnownMemory | undefined)[];
  /** Contents of the memories that are labeled as the evidence of the prompt; empty without labels. */
  evidence: ReadonlySet<string>;
}

export interface GiftScores {
  prompts: number;
  /** Tokens of the context of a prompt; 0 without a context. `o200k`: as o200k_base counts; `estimate`: as memoryd does. */
  o200k_mean: number;
  o200k_p95: number;
  estimate_mean: number;
  estimate_p95: number;
  /** Share of the prompts that were given nothing. */
  nothing: number;
  /** Mean number of memories of a prompt. */
  memories_mean: number;
  /** Of all given memories, the share that is evidence of the prompt; null if nothing was given. */
  evidence_of_given: number | null;
  /** Of all given memories, the share that are earlier prompts; null if nothing was given. */
  prompts_of_given: number | null;
  /** Of the prompts with evidence, the share that was given at least one memory of it. */
  with_evidence: number;
  /** The same, if a memory that was given earlier in the session also counts. */
  with_evidence_in_session: number;
  /** Number of given memories of another user or project. */
  crossings: number;
  /** Number of memories that were given in a session before. */
  repeated: number;
  /** Number of texts in contexts that are no memory. */
  unknown: number;
}

/**
 * Scores what prompts were given. A given memory is evidence if it is a turn whose content is labeled as the evidence of
 * this prompt; any other given memory is not, even if it would help.
 *
 * @param gifts in the order of the prompts; at least one
 */
export function scoreGifts(gifts: readonly Gift[]): GiftScores {
  const o200k = gifts.map(({ context }) => countTokens(context));
  const estimates = gifts.map(({ context }) => estimateTokens(context));
  const memories = gifts.flatMap((gift) => gift.memories);
  const labeled = gifts.filter(({ evidence }) => evidence.size > 0);
  const inSessions = collectSessions(gifts);
  const toShareOfGiven = (count: number) => (memories.length === 0 ? null : count / memories.length);
  const sum = (toCount: (gift: Gift) => number) => gifts.reduce((total, gift) => total + toCount(gift), 0);
  return {
    prompts: gifts.length,
    o200k_mean: getMean(o200k),
    o200k_p95: getPercentile(o200k, 95),
    estimate_mean: getMean(estimates),
    estimate_p95: getPercentile(estimates, 95),
    nothing: gifts.filter(({ context }) => context === '').length / gifts.length,
    memories_mean: memories.length / gifts.length,
    evidence_of_given: toShareOfGiven(sum((gift) => gift.memories.filter((each) => isEvidence(gift, each)).length)),
    prompts_of_given: toShareOfGiven(memories.filter((each) => each?.kind === 'prompt').length),
    with_evidence:
      labeled.filter((gift) => gift.memories.some((each) => isEvidence(gift, each))).length / labeled.length,
    with_evidence_in_session: labeled.filter((gift) => inSessions.hasEvidence(gift)).length / labeled.length,
    crossings: sum(({ owner, memories: given }) => given.filter((each) => each && !isSameOwner(each, owner)).length),
    repeated: inSessions.repeated,
    unknown: memories.filter((each) => each === undefined).length,
  };
}

function isEvidence({ owner, evidence }: Gift, memory: KnownMemory | undefined): boolean {
  return memory?.kind === 'turn' && isSameOwner(memory, owner) && evidence.has(memory.content);
}

function isSameOwner(one: Owner, other: Owner): boolean {
  return one.user === other.user && one.project === other.project;
}

/** Follows what each session has been given. The same session id of two users is two sessions. */
function collectSessions(gifts: readonly Gift[]): { repeated: number; hasEvidence: (gift: Gift) => boolean } {
  const givenBySession = new Map<string, Set<string>>();
  const withEvidence = new Set<Gift>();
  let repeated = 0;
  for (const gift of gifts) {
    const key = JSON.stringify([gift.owner.user, gift.sessionId]);
    const given = givenBySession.get(key) ?? new Set();
    givenBySession.set(key, given);
    for (const memory of gift.memories) {
      if (!memory) continue;
      if (given.has(memory.content)) repeated++;
      given.add(memory.content);
    }
    if ([...gift.evidence].some((content) => given.has(content))) withEvidence.add(gift);
  }
  return { repeated, hasEvidence: (gift) => withEvidence.has(gift) };
}

function getMean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
