/** One line of a chart. A null value interrupts the line. */
interface Line {
  name: string;
  /** Name of a CSS custom property. */
  color: string;
  values: readonly (number | null)[];
}

interface LineChartProps {
  title: string;
  lines: readonly Line[];
  /** Formats a value with its unit. */
  format: (value: number) => string;
  /** Label at the start of the time axis. */
  start: string;
  /** Text that is shown until a line has at least two values. */
  empty: string;
}

const WIDTH = 100;
const HEIGHT = 40;

/** A line chart over time. Screen readers get the latest values in the caption. */
export function LineChart({ title, lines, format, start, empty }: LineChartProps) {
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const top = roundUp(Math.max(0, ...known));
  const drawn = lines.some(({ values }) => values.filter((value) => value !== null).length > 1);
  return (
    <figure className="chart">
      <figcaption>
        <span className="chart-title">{title}</span>
        {lines.map(({ name, color, values }) => (
          <span className="key" key={name}>
            <i style={{ background: `var(${color})` }} />
            {name} <b>{getLatest(values, format)}</b>
          </span>
        ))}
      </figcaption>
      {drawn ? (
        <div className="plot">
          <span className="plot-top" aria-hidden="true">
            {format(top)}
          </span>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {lines.map(({ name, color, values }) => (
              <path key={name} d={getPath(values, top)} style={{ stroke: `var(${color})` }} />
            ))}
          </svg>
          <p className="plot-span">
            <span>{start}</span>
            <span>Now</span>
          </p>
        </div>
      ) : (
        <p className="plot-empty">{empty}</p>
      )}
    </figure>
  );
}

function getLatest(values: readonly (number | null)[], format: LineChartProps['format']): string {
  const latest = values.at(-1);
  return latest === undefined || latest === null ? '–' : format(latest);
}

/** Rounds up to 1, 2 or 5 times a power of ten, so that the top of the axis is a round number. */
function roundUp(highest: number): number {
  if (highest === 0) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  const step = [1, 2, 5].find((factor) => factor * power >= highest) ?? 10;
  return step * power;
}

function getPath(values: readonly (number | null)[], top: number): string {
  const stepWidth = WIDTH / Math.max(1, values.length - 1);
  let pen = 'M';
  let path = '';
  for (const [i, value] of values.entries()) {
    if (value === null) {
      pen = 'M';
      continue;
    }
    path += `${pen}${(i * stepWidth).toFixed(2)} ${(HEIGHT - (value / top) * HEIGHT).toFixed(2)}`;
    pen = 'L';
  }
  return path;
}
