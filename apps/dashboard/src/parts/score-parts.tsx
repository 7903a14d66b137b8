import type { Explanation } from '@memoryd/client';
import { getParts, type ScorePart } from '../score.ts';

interface ScorePartsProps {
  explanation: Explanation;
  score: number;
  /**
   * The sum of contributions that fills the whole bar. The same for all results, so that their bars can be compared.
   */
  widest: number;
}

/** Explains a score: the signals as a bar and in words, and the calculation on demand. */
export function ScoreParts({ explanation, score, widest }: ScorePartsProps) {
  const parts = getParts(explanation);
  return (
    <div className="why">
      <div className="bar" aria-hidden="true">
        {parts.map(({ name, color, contribution }) => (
          <i
            key={name}
            className={contribution < 0 ? 'against' : undefined}
            style={{ width: `${(Math.abs(contribution) / widest) * 100}%`, background: `var(${color})` }}
          />
        ))}
      </div>
      <details>
        <summary>
          <span className="hidden">Signals: </span>
          {parts.map(({ name, label, color, contribution }) => (
            <span className="key" key={name}>
              <i style={{ background: `var(${color})` }} />
              {label} <b>{formatSigned(contribution)}</b>
            </span>
          ))}
        </summary>
        <SumTable parts={parts} explanation={explanation} score={score} />
      </details>
    </div>
  );
}

interface SumTableProps {
  parts: readonly ScorePart[];
  explanation: Explanation;
  score: number;
}

function SumTable({ parts, explanation: { even, slope, evidence_of_another: isInherited }, score }: SumTableProps) {
  const sum = parts.reduce((total, { contribution }) => total + contribution, 0);
  return (
    <table className="sum">
      <caption>
        Score = 1 / (1 + e
        <sup>
          {slope} × ({even} − sum)
        </sup>
        )
        {isInherited &&
          '. The evidence is inherited from an older version, a newer version or a source of this memory.'}
      </caption>
      <thead>
        <tr>
          <th scope="col">Signal</th>
          <th scope="col">Evidence</th>
          <th scope="col">Weight</th>
          <th scope="col">Contribution</th>
        </tr>
      </thead>
      <tbody>
        {parts.map(({ name, label, evidence, weight, contribution }) => (
          <tr key={name}>
            <th scope="row">{label}</th>
            <td>{evidence.toFixed(3)}</td>
            <td>{weight}</td>
            <td>{formatSigned(contribution)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" colSpan={3}>
            Sum
          </th>
          <td>{formatSigned(sum)}</td>
        </tr>
        <tr>
          <th scope="row" colSpan={3}>
            Score
          </th>
          <td>{score.toFixed(3)}</td>
        </tr>
      </tfoot>
    </table>
  );
}

const formatSigned = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
