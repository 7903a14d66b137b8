/** Abort reason of a run that SIGINT or SIGTERM ends. */
class InterruptedError extends Error {
  override readonly name = 'InterruptedError';

  constructor() {
    super('interrupted');
  }
}

/**
 * Runs a command and sets the exit code. The first SIGINT or SIGTERM aborts the `AbortSignal`, so that the command can
 * stop its server and remove its files. A second SIGINT or SIGTERM exits at once; only `exit` handlers still run.
 */
export async function runInterruptibly(command: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const interrupt = (): void => {
    if (controller.signal.aborted) process.exit(130);
    process.stderr.write('\nstopping …\n');
    controller.abort(new InterruptedError());
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  try {
    await command(controller.signal);
  } catch (error) {
    process.exitCode = controller.signal.aborted ? 130 : 1;
    if (!controller.signal.aborted) process.stderr.write(`${describeError(error)}\n`);
  } finally {
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describeError(error.cause)}`;
}
