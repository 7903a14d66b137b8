/** The used part of undici's dispatcher, through which Node's `fetch` sends requests. */
interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Key of the global dispatcher in Node (undici, lib/global.js). */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * Returns `fetch` options that disable Node's own timeouts, so that only the signal ends a request: by default Node
 * gives up after five minutes without a response. Requests still go through the global dispatcher, which may use a
 * proxy. Returns no options on platforms without these timeouts.
 */
export function withoutNodeTimeouts(): object {
  // Reading `Response` makes Node create the global dispatcher.
  const globals = globalThis as { Response?: unknown; [GLOBAL_DISPATCHER]?: Dispatcher };
  const { Response: _loaded, [GLOBAL_DISPATCHER]: global } = globals;
  if (!global) return {};
  const timeouts = { headersTimeout: 0, bodyTimeout: 0 };
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) => global.dispatch({ ...options, ...timeouts }, handler),
  };
  return { dispatcher };
}
