import type { FastifyInstance } from 'fastify';

/** A request that has not been answered to its end. */
interface RequestUnderWay {
  request_id: string;
  method: string;
  /** The pattern that matched, never a caller's text. */
  route: string;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Requests that have arrived, at least with their headers, and whose answers have not left. */
    requestsUnderWay: () => RequestUnderWay[];
  }
}

/** Keeps account of what is under way. */
export function countRequestsUnderWay(app: FastifyInstance): void {
  const underWay = new Set<RequestUnderWay>();
  app.decorate('requestsUnderWay', () => [...underWay]);
  app.addHook('onRequest', ({ id, method, routeOptions }, reply, done) => {
    const request = { request_id: id, method, route: routeOptions.url ?? 'unmatched' };
    underWay.add(request);
    reply.raw.once('close', () => underWay.delete(request));
    done();
  });
}
