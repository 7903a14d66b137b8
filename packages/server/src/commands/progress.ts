import { formatCount } from '@memoryd/contract';
import type { SingleBar } from 'cli-progress';

/** A progress bar on standard error, shown only if standard error is a terminal. */
export interface Progress {
  /** @param total value of `done` at the end; 0 if unknown */
  show(done: number, total: number): void;
  end(): void;
}

/**
 * Returns a progress display that appears at the first call of `show`.
 *
 * @param operation name of the operation, such as `storing`
 * @param units singular and plural of the counted unit; `byte` is shown in megabytes
 */
export async function showProgress(operation: string, ...units: Units): Promise<Progress> {
  const { default: cliProgress } = await import('cli-progress');
  const { TimeFormat } = cliProgress.Format;
  const startedAt = performance.now();
  let bar: SingleBar | undefined;
  return {
    show(done, total) {
      const seconds = (performance.now() - startedAt) / 1000;
      const payload = { done: formatAmount(done, units), rate: formatAmount(seconds > 0 ? done / seconds : 0, units) };
      if (!bar) {
        bar = new cliProgress.SingleBar({
          ...{ ...STYLE, format: getFormat(operation, total) },
          // Before an estimate exists, cli-progress passes a text such as NULL or INF.
          formatTime: (seconds, options, step) =>
            Number.isFinite(seconds) ? `${TimeFormat(seconds, options, step)} left` : 'time left unknown',
        });
        bar.start(Math.max(total, 1), 0, payload);
      }
      // A total of 0 would be shown as complete.
      bar.setTotal(Math.max(total, done, 1));
      bar.update(done, payload);
    },
    end: () => bar?.stop(),
  };
}

const STYLE = { stream: process.stderr, barsize: 24, clearOnComplete: true };

function getFormat(operation: string, total: number): string {
  if (total === 0) return `${operation}: {done}, {rate}/s`;
  return `${operation} [{bar}] {percentage} %, {done}, {rate}/s, {eta_formatted}`;
}

/** The singular and plural of a unit. The plural is omitted if it is the singular with an s. */
type Units = [one: string, many?: string];

function formatAmount(count: number, units: Units): string {
  return units[0] === 'byte' ? `${(count / 1_000_000).toFixed(1)} MB` : formatCount(Math.round(count), ...units);
}

/** Thrown by `interruptible` if a signal interrupted the work. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * Runs work with a signal that is aborted at SIGINT or SIGTERM. If the work rejects after the signal is aborted,
 * rejects with `Interrupted`.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(interruption.signal);
  } catch (cause) {
    if (interruption.signal.aborted) throw new Interrupted('interrupted', { cause });
    throw cause;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
