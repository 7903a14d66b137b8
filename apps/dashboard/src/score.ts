import type { Explanation } from '@memoryd/client';

/** A signal and its contribution to the sum behind a score. */
export interface ScorePart {
  name: keyof Explanation['evidence'];
  label: string;
  /** Name of a CSS custom property. */
  color: string;
  evidence: number;
  weight: number;
  /** Evidence times weight. */
  contribution: number;
}

const SIGNALS: Readonly<Record<ScorePart['name'], Pick<ScorePart, 'label' | 'color'>>> = {
  words: { label: 'Words', color: '--signal-words' },
  meaning: { label: 'Meaning', color: '--signal-meaning' },
  tokens: { label: 'Words in context', color: '--signal-tokens' },
  rerank: { label: 'Reranker', color: '--signal-rerank' },
  neighbor: { label: 'Neighbor', color: '--signal-near' },
  passage: { label: 'Passage', color: '--signal-around' },
  session: { label: 'Session', color: '--signal-session' },
  reply: { label: 'Answers a question', color: '--signal-reply' },
  date: { label: 'Date', color: '--signal-date' },
  period: { label: 'Period', color: '--signal-date' },
  wish: { label: 'Instruction or preference', color: '--signal-wish' },
  question: { label: 'Is a question', color: '--danger' },
  silent: { label: 'States nothing', color: '--danger' },
  brevity: { label: 'Short', color: '--danger' },
  length: { label: 'Long', color: '--danger' },
  age: { label: 'Old', color: '--danger' },
  repeat: { label: 'Repeats a better result', color: '--danger' },
  retention: { label: 'Retention', color: '--signal-retention' },
  crowd: { label: 'Many similar results', color: '--danger' },
  missing: { label: 'Unknown name or number', color: '--danger' },
};

/** Minimum absolute contribution that is shown. */
const MIN_CONTRIBUTION = 0.005;

/** Returns the parts of a score with at least the minimum contribution, positive parts first. */
export function getParts(explanation: Explanation | undefined): ScorePart[] {
  if (!explanation) return [];
  const { evidence, weights } = explanation;
  return (Object.keys(SIGNALS) as ScorePart['name'][])
    .map((name) => ({
      name,
      ...SIGNALS[name],
      evidence: evidence[name],
      weight: weights[name],
      contribution: evidence[name] * weights[name],
    }))
    .filter(({ contribution }) => Math.abs(contribution) >= MIN_CONTRIBUTION)
    .sort((a, b) => Number(a.contribution < 0) - Number(b.contribution < 0));
}

export function sumPositive(parts: readonly ScorePart[]): number {
  return parts.reduce((sum, { contribution }) => sum + Math.max(0, contribution), 0);
}
