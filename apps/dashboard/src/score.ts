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
  words: { label: 'words', color: '--signal-words' },
  meaning: { label: 'meaning', color: '--signal-meaning' },
  tokens: { label: 'words in context', color: '--signal-meaning' },
  neighbour: { label: 'neighbor', color: '--signal-near' },
  passage: { label: 'passage', color: '--signal-around' },
  session: { label: 'session', color: '--signal-session' },
  reply: { label: 'answers a question', color: '--signal-reply' },
  date: { label: 'date', color: '--signal-date' },
  wish: { label: 'instruction or preference', color: '--signal-wish' },
  question: { label: 'is a question', color: '--danger' },
  brevity: { label: 'short', color: '--danger' },
  length: { label: 'long', color: '--danger' },
  age: { label: 'old', color: '--danger' },
  repeat: { label: 'repeats a better result', color: '--danger' },
  retention: { label: 'retention', color: '--signal-retention' },
  crowd: { label: 'many similar results', color: '--danger' },
  missing: { label: 'unknown name or number', color: '--danger' },
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
