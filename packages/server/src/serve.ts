import { setFlagsFromString } from 'node:v8';
import { DEFAULTS } from '@memoryd/contract/limits';
import type { Engine, Telemetry } from '@memoryd/engine';
import type { DestinationStream } from 'pino';
import { awaitDatabase } from './await-database.ts';
import { databaseName } from './database-name.ts';
import { areKeysNeeded, howToMakeAKey, isLoopbackHost } from './http/access.ts';
import { allowedOrigins } from './http/cross-origin.ts';
import type { PressureLimits } from './http/overload/pressure.ts';
import type { App } from './http/routes/route.ts';
import { listenOn } from './listen.ts';
import { logOutput, logTelemetry } from './log.ts';
import { createMetrics } from './metrics/metrics.ts';
import type { Settings } from './settings/read.ts';
import { exitOnDefect, outliveHangup, STOP_SIGNALS, stopOnSignal } from './stop.ts';
import { VERSION } from './version.ts';

/**
 * How much the heap of a thread may grow between two collections of all of it, in percent of what lives. V8's own
 * choice, up to four times as much, takes memory that belongs to memories.
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
  /** Called with the telemetry of the service before anything is opened. */
  onTelemetry?: (telemetry: Telemetry) => void;
}

/** Serves until the process is told to stop. */
export async function serve(settings: Settings): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const output = logOutput('stdout');
  const exit = (code: number): void => void output.end().then(() => process.exit(code));
  // Until it serves there is nothing to finish.
  const leave = () => exit(0);
  for (const signal of STOP_SIGNALS) process.on(signal, leave);
  const service = await startService(settings, output, {
    onTelemetry(telemetry) {
      exitOnDefect(telemetry, exit);
      outliveHangup(telemetry);
    },
  });
  for (const signal of STOP_SIGNALS) process.off(signal, leave);
  stopOnSignal(service, exit);
  await reportStart(service);
}

/**
 * Opens the database, for which it waits where that is on a server that is away, and listens for requests.
 *
 * @param output where records of the log go
 * @throws Error if the database cannot be opened, or if the port is taken, after closing the database
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
  // While the database opens in its threads, the rest is loaded.
  const [engine, { buildApp }] = await Promise.all([awaitDatabase(settings, telemetry), import('./http/app.ts')]);
  const app = await buildApp({ settings, engine, metrics, telemetry, lateLoopMs });
  try {
    const url = await listenOn((at) => app.listen(at), settings);
    return { settings, url, app, engine, telemetry };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Reports that the service listens, and warns if anyone may call it. */
export async function reportStart({ settings, url, engine, telemetry }: Service): Promise<void> {
  const facts = { url, version: VERSION, database: databaseName(settings.database), embedder: settings.embedder };
  telemetry.report({ level: 'info', component: 'server', event: 'server_started', facts });
  if (!(await areKeysNeeded(engine, settings))) adviseOnKeys(settings, telemetry);
}

/** Tells what follows from there being no API key, where it follows from how the service was started. */
function adviseOnKeys(settings: Settings, telemetry: Telemetry): void {
  const warn = (event: string, message: string) =>
    telemetry.report({ level: 'warn', component: 'server', event, facts: { message } });
  if (!settings.production && allowedOrigins(settings) === 'every') {
    warn(
      'any_origin_allowed',
      'development without API keys: any web page that this machine opens may call; ' +
        'set SERVICE_CORS_ORIGINS or NODE_ENV=production',
    );
  }
  if (!isLoopbackHost(settings.host)) {
    const how = howToMakeAKey({ namespace: DEFAULTS.namespace, scope: 'write' });
    warn('no_api_key', `requests from elsewhere are refused until there is an API key; to make one: ${how}`);
  }
}
