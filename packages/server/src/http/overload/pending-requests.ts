import type { FastifyInstance } from 'fastify';

/** A request whose response is not complete. */
interface PendingRequest {
  request_id: string;
  method: string;
  /** The pattern of the matched route, never the requested path. */
  route: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Requests whose headers were received and whose responses are not completely sent. */
    pendingRequests: () => PendingRequest[];
  }
}

/** Tracks pending requests for `app.pendingRequests`. */
export function trackPendingRequests(app: FastifyInstance): void {
  const pending = new Set<PendingRequest>();
  app.decorate('pendingRequests', () => [...pending]);
  app.addHook('onRequest', ({ id, method, routeOptions }, reply, done) => {
    const request = { request_id: id, method, route: routeOptions.url ?? 'unmatched' };
    pending.add(request);
    reply.raw.once('close', () => pending.delete(request));
    done();
  });
}
