import type { Engine, Telemetry } from '@memoryd/engine';
import type { App } from './http/routes/route.ts';

/** Time for requests under way to finish; what is left is for the engine to write what it holds. */
export const REQUESTS_GRACE_MS = 7000;
/** When the process ends whatever is still to do, so that within ten seconds the log is written too. */
export const STOP_LIMIT_MS = 9000;
/** For how long the same signal again is the same wish: who tells a whole group of processes often tells each of them too. */
const ECHO_MS = 500;
const IDLE_SWEEP_MS = 50;
/** Requests that a record names. */
const NAMED_REQUESTS = 20;

/** The parts of a service that a stop needs. */
export interface Stopping {
  app: App;
  engine: Engine;
  telemetry: Telemetry;
}

/**
 * Stops when the process is told to: no new connections, requests under way finish, the engine writes and closes.
 * Exit code 0, or 1 where that fails, takes too long, or a second signal comes; the same one at once is none. What is
 * given up is in the log.
 *
 * @param exit ends the process when everything is written
 */
export function stopOnSignal(stopping: Stopping, exit: (code: number) => void): void {
  const { telemetry } = stopping;
  const force = (why: string): void => {
    reportForcedStop(stopping, why);
    exit(1);
  };
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    const at = performance.now();
    if (first !== undefined) {
      if (signal !== first.signal || at - first.at > ECHO_MS) force('a second signal');
      return;
    }
    first = { signal, at };
    telemetry.report({ level: 'info', component: 'server', event: 'server_stopping', facts: { signal } });
    setTimeout(() => force('the time for stopping is up'), STOP_LIMIT_MS).unref();
    stopService(stopping).then(
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
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
}

/** The signals that end a service. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Goes on after a hang-up, which tools that rotate logs send: the log goes to standard output, so nothing is opened anew. */
export function outliveHangup(telemetry: Telemetry): void {
  process.on('SIGHUP', () => telemetry.report({ level: 'info', component: 'server', event: 'hangup_ignored' }));
}

/** Refuses new connections, lets requests under way finish, and closes the engine. */
export async function stopService({ app, engine, telemetry }: Stopping): Promise<void> {
  // A connection whose last request was under way becomes idle later, and would stay for its keep-alive time.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const cut = setTimeout(() => {
    const facts = underWay(app);
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

/** Answered writes are on disk; requests without an answer may have been done or not. */
function reportForcedStop({ app, telemetry }: Stopping, why: string): void {
  const facts = { why, ...underWay(app) };
  telemetry.report({ level: 'error', component: 'server', event: 'stop_forced', facts });
}

function underWay(app: App): { count: number; requests: string } {
  const requests = app.requestsUnderWay();
  const named = requests
    .slice(0, NAMED_REQUESTS)
    .map(({ method, route, request_id }) => `${method} ${route} ${request_id}`);
  return { count: requests.length, requests: named.join(', ') };
}

/** After a defect that nobody caught, state is unknown: it is logged, and a supervisor may start anew. */
export function exitOnDefect(telemetry: Telemetry, exit: (code: number) => void): void {
  process.on('uncaughtException', (error) => {
    telemetry.report({ level: 'error', component: 'server', event: 'defect', error });
    exit(1);
  });
}
