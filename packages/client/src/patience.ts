/** What sends for Node's fetch, as far as it is used here. */
interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Where Node keeps what sends (undici, lib/global.js). */
const SENDER = Symbol.for('undici.globalDispatcher.1');

/**
 * Options by which fetch waits as long as its signal lets it: Node's gives up after five minutes without an answer. What
 * sends is the global one still, which may know of a proxy. None where fetch has no such limit.
 */
export function patience(): object {
  // Node makes what sends when anything of fetch is first looked at.
  const { Response: _loaded, [SENDER]: sender } = globalThis as { Response?: unknown; [SENDER]?: Dispatcher };
  if (!sender) return {};
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  const patient: Dispatcher = { dispatch: (options, handler) => sender.dispatch({ ...options, ...limits }, handler) };
  return { dispatcher: patient };
}
