import type { Explanation } from '@memoryd/client';

/** A piece of evidence and what it adds to the sum that a score is made of. */
export interface ScorePart {
  name: keyof Explanation['evidence'];
  label: string;
  /** The colour of its kind, as a custom property. */
  colour: string;
  evidence: number;
  weight: number;
  /** Evidence times weight. */
  adds: number;
}

const SIGNALS: Readonly<Record<ScorePart['name'], Pick<ScorePart, 'label' | 'colour'>>> = {
  words: { label: 'words', colour: '--signal-words' },
  meaning: { label: 'meaning', colour: '--signal-meaning' },
  tokens: { label: 'words in context', colour: '--signal-meaning' },
  neighbour: { label: 'its neighbour', colour: '--signal-near' },
  passage: { label: 'its passage', colour: '--signal-around' },
  session: { label: 'its session', colour: '--signal-session' },
  reply: { label: 'answers a question', colour: '--signal-reply' },
  date: { label: 'date', colour: '--signal-date' },
  wish: { label: 'a wish', colour: '--signal-wish' },
  question: { label: 'asks itself', colour: '--danger' },
  brevity: { label: 'is short', colour: '--danger' },
  length: { label: 'is long', colour: '--danger' },
  age: { label: 'is old', colour: '--danger' },
  repeat: { label: 'said above', colour: '--danger' },
  retention: { label: 'retained', colour: '--signal-retention' },
  crowd: { label: 'as relevant as many', colour: '--danger' },
  missing: { label: 'unknown name or number', colour: '--danger' },
};

/** Parts below this are nothing to tell of. */
const LEAST = 0.005;

/** What speaks for a result, and then what speaks against it. */
export function getParts(explanation: Explanation | undefined): ScorePart[] {
  if (!explanation) return [];
  const { evidence, weights } = explanation;
  return (Object.keys(SIGNALS) as ScorePart['name'][])
    .map((name) => ({
      name,
      ...SIGNALS[name],
      evidence: evidence[name],
      weight: weights[name],
      adds: evidence[name] * weights[name],
    }))
    .filter(({ adds }) => Math.abs(adds) >= LEAST)
    .sort((a, b) => Number(a.adds < 0) - Number(b.adds < 0));
}

export function sumOfPositive(parts: readonly ScorePart[]): number {
  return parts.reduce((sum, { adds }) => sum + Math.max(0, adds), 0);
}
