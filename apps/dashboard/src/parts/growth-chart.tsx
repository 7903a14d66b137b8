import { TIERS } from '../filter.ts';
import { count, moment } from '../format.ts';

/** Counts by tier, in the order of the tiers, at one moment. */
export interface GrowthStep {
  at: number;
  counts: readonly number[];
}

const HEIGHT = 60;
const COLUMN = 8;
const GAP = 2;

/** Columns of the three tiers upon each other; the same as a table for who does not see them. */
export function GrowthChart({ steps, busy }: { steps: readonly GrowthStep[]; busy: boolean }) {
  const highest = Math.max(1, ...steps.map(({ counts }) => sum(counts)));
  const first = steps[0];
  return (
    <figure className="chart growth" aria-busy={busy}>
      <figcaption>
        {TIERS.map((tier) => (
          <span className="key" key={tier}>
            <i style={{ background: `var(--${tier})` }} />
            {tier}
          </span>
        ))}
      </figcaption>
      <div className="plot">
        <span className="plot-top" aria-hidden="true">
          {count(highest)}
        </span>
        <svg viewBox={`0 0 ${steps.length * COLUMN - GAP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {steps.map((step, i) => (
            <Column key={step.at} step={step} x={i * COLUMN} highest={highest} />
          ))}
        </svg>
        <p className="plot-span">
          <span>{first && `since ${moment(first.at)}`}</span>
          <span>now</span>
        </p>
      </div>
      <div className="hidden">
        <table>
          <caption>Memories by tier over time</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {TIERS.map((tier) => (
                <th scope="col" key={tier}>
                  {tier}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map(({ at, counts }) => (
              <tr key={at}>
                <th scope="row">{moment(at)}</th>
                {TIERS.map((tier, i) => (
                  <td key={tier}>{count(counts[i] ?? 0)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

function Column({ step, x, highest }: { step: GrowthStep; x: number; highest: number }) {
  // The tiers stand upon each other in the order in which memories come to them, the latest below.
  const order = TIERS.map((tier, i) => ({ tier, value: step.counts[i] ?? 0 })).toReversed();
  let y = HEIGHT;
  return order.map(({ tier, value }) => {
    const height = (value / highest) * HEIGHT;
    y -= height;
    return <rect key={tier} x={x} y={y} width={COLUMN - GAP} height={height} style={{ fill: `var(--${tier})` }} />;
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
