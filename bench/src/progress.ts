import { performance } from 'node:perf_hooks';
import cliProgress, { type Options, type Params } from 'cli-progress';

/** Progress display of a step of known length. */
export interface Progress {
  advance(by?: number): void;
  /** Replaces the displayed label. */
  label(text: string): void;
  end(): void;
}

const REDRAW_INTERVAL_MS = 100;
const PLAIN_LINE_INTERVAL_MS = 10_000;

/** Shows progress, rate and remaining time on standard error: a bar on a terminal, otherwise a line every 10 s. */
export function showProgress(text: string, total: number): Progress {
  const bar = new cliProgress.SingleBar({
    format: formatLine,
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: PLAIN_LINE_INTERVAL_MS,
    barsize: 24,
    // Without a terminal, there is no bar to clear; `true` then only prevents an empty line at the end of the output.
    clearOnComplete: !process.stderr.isTTY,
  });
  let value = 0;
  let label = text;
  let shownAt = performance.now();
  bar.start(total, 0, { label });
  const show = (): void => {
    shownAt = performance.now();
    bar.update(value, { label });
  };
  return {
    advance(by = 1) {
      value += by;
      if (performance.now() - shownAt >= REDRAW_INTERVAL_MS) show();
    },
    label(next) {
      label = next;
      show();
    },
    end() {
      show();
      bar.stop();
    },
  };
}

function formatLine(options: Options, params: Params, payload: { label: string }): string {
  const elapsedS = (Date.now() - params.startTime) / 1000;
  const rate = elapsedS > 0 ? params.value / elapsedS : 0;
  const left = rate > 0 ? `, ${formatSeconds((params.total - params.value) / rate)} left` : '';
  const bar = process.stderr.isTTY ? `[${cliProgress.Format.BarFormat(params.progress, options)}] ` : '';
  return `${bar}${params.value}/${params.total}, ${rate.toFixed(0)}/s${left}, ${payload.label}`;
}

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
