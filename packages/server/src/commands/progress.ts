import { counted } from '@memoryd/contract';
import type { SingleBar } from 'cli-progress';

/** How far something has come, shown on standard error while that is a terminal. */
export interface Progress {
  /** @param of what `done` comes to in the end; 0 where nobody knows */
  show(done: number, of: number): void;
  end(): void;
}

/** @param units what is counted, such as `memory` and `memories`; `byte` is shown as megabytes */
export async function showProgress(what: string, ...units: Units): Promise<Progress> {
  const { default: cliProgress } = await import('cli-progress');
  const { TimeFormat } = cliProgress.Format;
  const begunAt = performance.now();
  let bar: SingleBar | undefined;
  return {
    show(done, of) {
      const seconds = (performance.now() - begunAt) / 1000;
      const payload = { done: amount(done, units), rate: amount(seconds > 0 ? done / seconds : 0, units) };
      if (!bar) {
        bar = new cliProgress.SingleBar({
          ...{ ...STYLE, format: getFormat(what, of) },
          // The estimate is a text, such as NULL or INF, until there is one.
          formatTime: (seconds, options, step) =>
            Number.isFinite(seconds) ? `${TimeFormat(seconds, options, step)} left` : 'time left unknown',
        });
        bar.start(Math.max(of, 1), 0, payload);
      }
      // A total of nothing would be shown as one that is reached.
      bar.setTotal(Math.max(of, done, 1));
      bar.update(done, payload);
    },
    end: () => bar?.stop(),
  };
}

const STYLE = { stream: process.stderr, barsize: 24, clearOnComplete: true };

function getFormat(what: string, of: number): string {
  if (of === 0) return `${what}: {done}, {rate}/s`;
  return `${what} [{bar}] {percentage} %, {done}, {rate}/s, {eta_formatted}`;
}

/** The word for one, and for several where that is not the same with an s. */
type Units = [one: string, many?: string];

function amount(count: number, units: Units): string {
  return units[0] === 'byte' ? `${(count / 1_000_000).toFixed(1)} MB` : counted(Math.round(count), ...units);
}

/** What work rejects with that was told to end. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Does work that ends early, by its signal, when the process is told to end. */
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
