import type { Explanation } from '@memoryd/client';
import { getParts, type ScorePart } from '../score.ts';

interface ScorePartsProps {
  explanation: Explanation;
  score: number;
  /** The sum that the whole width stands for, so that results can be compared. */
  widest: number;
}

/** Why a result came: its evidence as a bar, the same in words, and on demand the whole sum. */
export function ScoreParts({ explanation, score, widest }: ScorePartsProps) {
  const parts = getParts(explanation);
  return (
    <div className="why">
      <div className="bar" aria-hidden="true">
        {parts.map(({ name, colour, adds }) => (
          <i
            key={name}
            className={adds < 0 ? 'against' : undefined}
            style={{ width: `${(Math.abs(adds) / widest) * 100}%`, background: `var(${colour})` }}
          />
        ))}
      </div>
      <details>
        <summary>
          <span className="hidden">Why: </span>
          {parts.map(({ name, label, colour, adds }) => (
            <span className="key" key={name}>
              <i style={{ background: `var(${colour})` }} />
              {label} <b>{signed(adds)}</b>
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

function SumTable({ parts, explanation: { even, slope, evidence_of_another: isOfAnother }, score }: SumTableProps) {
  const sum = parts.reduce((total, { adds }) => total + adds, 0);
  return (
    <table className="sum">
      <caption>
        The score is 1 / (1 + e
        <sup>
          {slope} × ({even} − sum)
        </sup>
        ){isOfAnother && ', and that of what it corrects, is corrected by or was distilled from'}
      </caption>
      <thead>
        <tr>
          <th scope="col">Signal</th>
          <th scope="col">Evidence</th>
          <th scope="col">Weight</th>
          <th scope="col">Adds</th>
        </tr>
      </thead>
      <tbody>
        {parts.map(({ name, label, evidence, weight, adds }) => (
          <tr key={name}>
            <th scope="row">{label}</th>
            <td>{evidence.toFixed(3)}</td>
            <td>{weight}</td>
            <td>{signed(adds)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row" colSpan={3}>
            Sum, and the score that comes of it
          </th>
          <td>
            {signed(sum)} → {score.toFixed(3)}
          </td>
        </tr>
      </tfoot>
    </table>
  );
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`;
