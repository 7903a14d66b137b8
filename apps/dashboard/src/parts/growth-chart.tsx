import { TIERS } from '../filter.ts';
import { capitalize, formatDateTime, formatNumber } from '../format.ts';

/** Number of memories per tier, in the order of `TIERS`, at the time `at` in ms since 1970. */
export interface GrowthStep {
  at: number;
  counts: readonly number[];
}

const HEIGHT = 60;
const COLUMN = 8;
const GAP = 2;

/** A stacked column chart of the tiers, with a table for screen readers. */
export function GrowthChart({ steps, isBusy }: { steps: readonly GrowthStep[]; isBusy: boolean }) {
  const highest = Math.max(1, ...steps.map(({ counts }) => sum(counts)));
  const first = steps[0];
  return (
    <figure className="chart growth" aria-busy={isBusy}>
      <figcaption>
        {TIERS.map((tier) => (
          <span className="key" key={tier}>
            <i style={{ background: `var(--${tier})` }} />
            {capitalize(tier)}
          </span>
        ))}
      </figcaption>
      <div className="plot">
        <span className="plot-top" aria-hidden="true">
          {formatNumber(highest)}
        </span>
        <svg viewBox={`0 0 ${steps.length * COLUMN - GAP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          {steps.map((step, i) => (
            <Column key={step.at} step={step} x={i * COLUMN} highest={highest} />
          ))}
        </svg>
        <p className="plot-span">
          <span>{first && formatDateTime(first.at)}</span>
          <span>Now</span>
        </p>
      </div>
      <div className="hidden">
        <table>
          <caption>Memories per tier over time</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              {TIERS.map((tier) => (
                <th scope="col" key={tier}>
                  {capitalize(tier)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map(({ at, counts }) => (
              <tr key={at}>
                <th scope="row">{formatDateTime(at)}</th>
                {TIERS.map((tier, i) => (
                  <td key={tier}>{formatNumber(counts[i] ?? 0)}</td>
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
  // The semantic tier is at the bottom, the working tier on top.
  const order = TIERS.map((tier, i) => ({ tier, value: step.counts[i] ?? 0 })).toReversed();
  let y = HEIGHT;
  return order.map(({ tier, value }) => {
    const height = (value / highest) * HEIGHT;
    y -= height;
    return <rect key={tier} x={x} y={y} width={COLUMN - GAP} height={height} style={{ fill: `var(--${tier})` }} />;
  });
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
