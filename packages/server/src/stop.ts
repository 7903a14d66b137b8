import type { Engine, Telemetry } from '@memoryd/engine';
import type { App } from './routes/route.ts';

/** Time for requests under way to finish; what is left of the ten seconds is for the engine to write what it holds. */
export const REQUESTS_GRACE_MS = 7000;
export const STOP_LIMIT_MS = 10_000;
const IDLE_SWEEP_MS = 50;

export interface Stopping {
  app: App;
  engine: Engine;
  telemetry: Telemetry;
  /** Ends the process when everything is written. */
  exit: (code: number) => void;
}

/**
 * Stops when the process is told to: no new connections, requests under way finish, the engine writes and closes.
 * Exit code 0, or 1 where that fails, takes longer than ten seconds, or a second signal comes.
 */
export function stopOnSignal({ app, engine, telemetry, exit }: Stopping): void {
  let stopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    telemetry.report({ level: 'info', component: 'server', event: 'server_stopping', facts: { signal } });
    try {
      await closeConnections(app);
      await engine.close();
      telemetry.report({ level: 'info', component: 'server', event: 'server_stopped' });
      exit(0);
    } catch (error) {
      telemetry.report({ level: 'error', component: 'server', event: 'stop_failed', error });
      exit(1);
    }
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}

async function closeConnections(app: App): Promise<void> {
  // A connection whose last request was under way becomes idle later, and would stay for its keep-alive time.
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
  const cut = setTimeout(() => app.server.closeAllConnections(), REQUESTS_GRACE_MS);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

/** After a defect that nobody caught, state is unknown: it is logged, and a supervisor may start anew. */
export function exitOnDefect(telemetry: Telemetry, exit: (code: number) => void): void {
  process.on('uncaughtException', (error) => {
    telemetry.report({ level: 'error', component: 'server', event: 'defect', error });
    exit(1);
  });
}
