import type { ServerResponse } from 'node:http';

/** Aborted when an answer has been sent, or nobody takes it any more. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Who has gone already says so no more.
  if (response.destroyed) gone.abort();
  response.once('close', () => gone.abort());
  return gone.signal;
}
