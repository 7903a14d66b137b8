import type { ServerResponse } from 'node:http';

/** Returns a signal that is aborted when the response is complete or the client disconnects. */
export function createDisconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  // The client has already disconnected; `close` will not fire again.
  if (response.destroyed) controller.abort();
  response.once('close', () => controller.abort());
  return controller.signal;
}
