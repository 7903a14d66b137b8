import { setFlagsFromString } from 'node:v8';
import { DEFAULTS } from '@memoryd/contract/limits';
import type { Engine, Telemetry } from '@memoryd/engine';
import { getDatabaseName } from '@memoryd/engine/defaults';
import type { DestinationStream } from 'pino';
import { areKeysNeeded, howToMakeAKey, isLoopbackHost } from './http/access.ts';
import { allowedOrigins } from './http/cross-origin.ts';
import type { PressureLimits } from './http/overload/pressure.ts';
import type { App } from './http/routes/route.ts';
import { listenOn } from './listen.ts';
import { logOutput, logTelemetry } from './log.ts';
import { createReadableLog } from './log-lines.ts';
import { createMetrics } from './metrics/metrics.ts';
import { getBanner } from './serve-banner.ts';
import type { Settings } from './settings/read.ts';
import { exitOnDefect, onStop, outliveHangup, type StopOptions, stopOnCause } from './stop.ts';
import { VERSION } from './version.ts';
import { waitForDatabase } from './wait-for-database.ts';

/**
 * Growth of the heap of a thread between two full garbage collections, in percent of live objects. V8's default allows
 * up to four times as much, and would use memory that the recall index needs.
 */
const HEAP_GROWTH_PERCENT = 30;

/** The parts of a running service. */
export interface Service {
  settings: Settings;
  url: string;
  app: App;
  engine: Engine;
  telemetry: Telemetry;
}

export interface StartOptions extends Pick<PressureLimits, 'lateLoopMs'> {
  /** Called with the telemetry of the service before the database is opened. */
  onTelemetry?: (telemetry: Telemetry) => void;
}

/**
 * Runs the server until a signal, or with `stopWithStdin` the end of standard input, stops the process. On a terminal,
 * shows a banner and readable log lines.
 */
export async function serve(settings: Settings, options: StopOptions = {}): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const output = logOutput('stdout');
  const exit = (code: number): void => void output.end().then(() => process.exit(code));
  let telemetry: Telemetry | undefined;
  // Until the service has started, there is no pending work, so the process exits at once.
  const removeListeners = onStop((cause) => {
    telemetry?.report({ level: 'info', component: 'server', event: 'server_stopping', facts: { cause } });
    exit(0);
  }, options);
  const isTerminal = process.stdout.isTTY === true;
  const service = await startService(settings, isTerminal ? createReadableLog(output) : output, {
    onTelemetry(created) {
      telemetry = created;
      exitOnDefect(created, exit);
      outliveHangup(created);
    },
  });
  removeListeners();
  stopOnCause(service, exit, options);
  if (isTerminal) output.write(getBanner(settings, service.url, await areKeysNeeded(service.engine, settings)));
  await reportStart(service);
}

/**
 * Opens the database and listens for requests. While the database server is unreachable, waits.
 *
 * @param output destination of log records
 * @throws Error if the database cannot be opened or the port is in use; in both cases, no database stays open
 */
export async function startService(
  settings: Settings,
  output: DestinationStream,
  { onTelemetry, lateLoopMs }: StartOptions = {},
): Promise<Service> {
  const log = logTelemetry(settings, output);
  const metrics = createMetrics();
  const telemetry: Telemetry = {
    report(event) {
      log.report(event);
      metrics.telemetry.report(event);
    },
  };
  onTelemetry?.(telemetry);
  // Loads the application module while other threads open the database.
  const [engine, { buildApp }] = await Promise.all([waitForDatabase(settings, telemetry), import('./http/app.ts')]);
  const app = await buildApp({ settings, engine, metrics, telemetry, lateLoopMs });
  try {
    const url = await listenOn((at) => app.listen(at), settings);
    return { settings, url, app, engine, telemetry };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Logs that the service listens, and warnings if local requests need no key. */
export async function reportStart({ settings, url, engine, telemetry }: Service): Promise<void> {
  const facts = { url, version: VERSION, database: getDatabaseName(settings.database), embedder: settings.embedder };
  // Read first, so that a signal right after the first record does not suppress the warnings.
  const isOpen = !(await areKeysNeeded(engine, settings));
  telemetry.report({ level: 'info', component: 'server', event: 'server_started', facts });
  if (isOpen) warnAboutAccess(settings, telemetry);
}

/**
 * Logs a warning if, in development, web pages of any origin can send requests, and a warning if other machines need a
 * key to send requests. Called while local requests need no key.
 */
function warnAboutAccess(settings: Settings, telemetry: Telemetry): void {
  const warn = (event: string, message: string) =>
    telemetry.report({ level: 'warn', component: 'server', event, facts: { message } });
  if (!settings.production && allowedOrigins(settings) === 'every') {
    warn(
      'any_origin_allowed',
      'development mode without API keys: any web page in a browser on this machine can send requests; ' +
        'set SERVICE_CORS_ORIGINS or NODE_ENV=production',
    );
  }
  if (!isLoopbackHost(settings.host)) {
    const how = howToMakeAKey({ namespace: DEFAULTS.namespace, scope: 'write' });
    warn('no_api_key', `requests from other machines are refused until there is an API key; create one with: ${how}`);
  }
}
