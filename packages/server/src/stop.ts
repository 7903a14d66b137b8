import type { Engine, Telemetry } from '@memoryd/engine';
import type { App } from './http/routes/route.ts';

/** Grace period for pending requests. The remaining time until `STOP_LIMIT_MS` is for the engine to write its data. */
export const REQUESTS_GRACE_MS = 7000;
/**
 * Deadline after which the process exits anyway. By default, Docker kills a process 10 s after SIGTERM; the second in
 * reserve is for writing the log.
 */
export const STOP_LIMIT_MS = 9000;
/**
 * Time within which a repeated signal is ignored, because a supervisor that signals a process group often also signals
 * each process.
 */
const REPEATED_SIGNAL_MS = 500;
const IDLE_SWEEP_MS = 50;
/** Maximum number of pending requests that a log record lists. */
const MAX_LOGGED_REQUESTS = 20;

/** The parts of a service that `stopService` uses. */
export interface StoppableService {
  app: App;
  engine: Engine;
  telemetry: Telemetry;
}

/** The causes for which a service stops. */
export interface StopOptions {
  /** Also stop when standard input ends. */
  stopWithStdin?: boolean | undefined;
}

/** The signals that end a service. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

type StopCause = (typeof STOP_SIGNALS)[number] | typeof END_OF_STDIN;

const END_OF_STDIN = 'end of standard input';

/**
 * Calls `stop` on SIGINT and SIGTERM, and with `stopWithStdin` when standard input ends.
 *
 * @returns a function that removes the listeners
 */
export function onStop(stop: (cause: StopCause) => void, { stopWithStdin = false }: StopOptions): () => void {
  const stopAtEnd = () => stop(END_OF_STDIN);
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  // `close` also follows an error. Without `resume`, a stream that nobody reads has no end.
  if (stopWithStdin)
    process.stdin
      .on('error', () => {})
      .on('close', stopAtEnd)
      .resume();
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
    if (stopWithStdin) process.stdin.off('close', stopAtEnd);
  };
}

/**
 * Stops the service on the causes of `onStop`: refuses new connections, cuts off requests that are still pending after
 * `REQUESTS_GRACE_MS`, writes the engine's pending data, and closes the engine. Exits with code 0, or with code 1 if
 * stopping fails, if stopping exceeds `STOP_LIMIT_MS`, or if a second signal is received. The same signal within
 * `REPEATED_SIGNAL_MS` of the first is ignored, as is the end of standard input after a signal: a terminal that sends
 * SIGINT to a program and its service also ends the program, and so the input. Requests that were cut off are logged.
 *
 * @param exit ends the process after the log is written
 */
export function stopOnCause(service: StoppableService, exit: (code: number) => void, options: StopOptions = {}): void {
  const { telemetry } = service;
  const force = (why: string): void => {
    reportForcedStop(service, why);
    exit(1);
  };
  let isStopping = false;
  let first: { signal: StopCause; at: number } | undefined;
  const stop = (cause: StopCause): void => {
    if (cause !== END_OF_STDIN) {
      const at = performance.now();
      if (first && (cause !== first.signal || at - first.at > REPEATED_SIGNAL_MS)) force('a second signal');
      first ??= { signal: cause, at };
    }
    if (isStopping) return;
    isStopping = true;
    telemetry.report({ level: 'info', component: 'server', event: 'server_stopping', facts: { cause } });
    setTimeout(() => force('the stop deadline was exceeded'), STOP_LIMIT_MS).unref();
    stopService(service).then(
      () => {
        telemetry.report({ level: 'info', component: 'server', event: 'server_stopped' });
        exit(0);
      },
      (error: unknown) => {
        telemetry.report({ level: 'error', component: 'server', event: 'stop_failed', error });
        exit(1);
      },
    );
  };
  onStop(stop, options);
}

/** Ignores SIGHUP, which log rotation tools send: the log goes to standard output, so there is no file to reopen. */
export function outliveHangup(telemetry: Telemetry): void {
  process.on('SIGHUP', () => telemetry.report({ level: 'info', component: 'server', event: 'hangup_ignored' }));
}

/** Refuses new connections, waits for pending requests up to the grace period, and closes the engine. */
export async function stopService({ app, engine, telemetry }: StoppableService): Promise<void> {
  // A connection with a pending request becomes idle later, and would then stay open for its keep-alive time.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const cut = setTimeout(() => {
    const facts = getPendingRequests(app);
    if (facts.count > 0) telemetry.report({ level: 'warn', component: 'server', event: 'requests_cut', facts });
    app.server.closeAllConnections();
  }, REQUESTS_GRACE_MS);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
  await engine.close();
}

/**
 * Reports a stop that did not finish. Writes whose response was sent are on disk. Pending requests may or may not have
 * been executed.
 */
function reportForcedStop({ app, telemetry }: StoppableService, why: string): void {
  const facts = { why, ...getPendingRequests(app) };
  telemetry.report({ level: 'error', component: 'server', event: 'stop_forced', facts });
}

function getPendingRequests(app: App): { count: number; requests: string } {
  const requests = app.pendingRequests();
  const listed = requests
    .slice(0, MAX_LOGGED_REQUESTS)
    .map(({ method, route, request_id }) => `${method} ${route} ${request_id}`);
  return { count: requests.length, requests: listed.join(', ') };
}

/**
 * Logs an uncaught exception and exits with code 1. The state of the process is unknown afterwards, so a supervisor has
 * to restart it.
 */
export function exitOnDefect(telemetry: Telemetry, exit: (code: number) => void): void {
  process.on('uncaughtException', (error) => {
    telemetry.report({ level: 'error', component: 'server', event: 'defect', error });
    exit(1);
  });
}
