// Worker thread: requests what an open page of the dashboard requests, at the pace of the page, so that reading the
// responses does not delay the measured recalls. Receives the name of a view, or `close`.
import { parentPort, workerData } from 'node:worker_threads';
import { Agent } from 'undici';

export type View = 'table' | 'timeline' | 'map';

/** Requests of each page while it is open. */
const POLLED = ['/stats', '/health', '/metrics'];
const POLL_INTERVAL_MS = 5000;
/** Rows are requested while the table scrolls, and a text when the pointer rests on a memory of the map. */
const MOVE_INTERVAL_MS = 1000;
const TABLE_ROWS = 100;

const VIEWS: Readonly<Record<View, { load: string[]; move?: (step: number) => string }>> = {
  table: { load: ['/memories?limit=100'], move: (step) => `/memories?limit=100&offset=${step * TABLE_ROWS}` },
  timeline: {
    load: ['/growth?step=day&timezone=UTC', '/growth?step=week&field=tier&timezone=UTC', '/memories?limit=200'],
  },
  map: { load: ['/map'], move: (step) => `/memories?limit=1&offset=${step}` },
};

const { origin } = workerData as { origin: string };
/** The connections that a browser opens to one host. */
const agent = new Agent({ connections: 6 });
let closing = new AbortController();
let requests = Promise.resolve();

function open(view: View): void {
  closing = new AbortController();
  const { signal } = closing;
  const get = async (path: string): Promise<void> => {
    try {
      const { statusCode, body } = await agent.request({ origin, path, method: 'GET', signal });
      for await (const _ of body);
      if (statusCode !== 200) throw new Error(`GET ${path} returned ${statusCode}`);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
  const { load, move } = VIEWS[view];
  const getAll = (paths: readonly string[]) => Promise.all(paths.map(get));
  const repeat = async (paths: (step: number) => readonly string[], intervalMs: number) => {
    for (let step = 1; !signal.aborted; step++) {
      await new Promise((resolve) => setTimeout(resolve, intervalMs));
      if (!signal.aborted) await getAll(paths(step));
    }
  };
  requests = Promise.all([
    get('/events'),
    getAll([...POLLED, ...load]),
    repeat(() => POLLED, POLL_INTERVAL_MS),
    ...(move ? [repeat((step) => [move(step)], MOVE_INTERVAL_MS)] : []),
  ]).then(() => undefined);
}

parentPort?.on('message', async (message: View | 'close') => {
  if (message !== 'close') return open(message);
  closing.abort();
  await requests;
  parentPort?.postMessage('closed');
});
