import type { FastifyInstance } from 'fastify';
import helmet from 'helmet';

/**
 * What browsers are told with every answer: that it is what its content type says, loads and runs nothing, and stands in
 * no frame. Pages say themselves what they load. Nothing is said of HTTPS, which is for whoever terminates it.
 */
export function registerSecurityHeaders(app: FastifyInstance): void {
  // Made once: the plugin for Fastify makes it, and parses its directives, for each request.
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
    },
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    crossOriginResourcePolicy: { policy: 'same-origin' },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  app.addHook('onRequest', (request, reply, done) => setHeaders(request.raw, reply.raw, () => done()));
}

/** What is said with answers to what is no proper request, which reach no route and none of its steps. */
export const BARE_SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const;
