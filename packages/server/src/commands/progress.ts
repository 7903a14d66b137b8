import cliProgress from 'cli-progress';

/** How far something has come, shown on standard error while that is a terminal. */
export interface Progress {
  show(done: number, of: number): void;
  end(): void;
}

export function showProgress(what: string): Progress {
  const bar = new cliProgress.SingleBar({
    format: `${what} [{bar}] {percentage} %`,
    stream: process.stderr,
    barsize: 24,
    clearOnComplete: true,
  });
  let begun = false;
  return {
    show(done, of) {
      // A total of nothing would be shown as one that is reached.
      const total = Math.max(of, 1);
      if (!begun) bar.start(total, 0);
      begun = true;
      bar.setTotal(Math.max(total, done));
      bar.update(done);
    },
    end: () => bar.stop(),
  };
}

/** Does work that ends early, by its signal, when the process is told to end. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  try {
    return await work(interruption.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}
