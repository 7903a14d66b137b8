import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { getBuildFolder } from '../built-folder.ts';
import { openToAnyone } from './docs-pages.ts';

/**
 * Content security policy of the dashboard: resources only from this server, and no HTML from strings (trusted types
 * without a policy).
 */
const DASHBOARD_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The Cache-Control header of files whose name contains a hash of their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Serves the dashboard at `/ui/` without authentication. The page itself calls the API with the user's API key. */
export async function registerDashboardPage(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    openToAnyone(scope);
    scope.addHook('onSend', async ({ url }, reply) => {
      if (reply.statusCode >= 400) return;
      reply.header('Content-Security-Policy', DASHBOARD_POLICY);
      reply.header('Cache-Control', url.startsWith('/ui/assets/') ? IMMUTABLE : 'no-cache');
    });
    // Relative, because a proxy may serve the page under another path.
    scope.get('/ui', { schema: { hide: true } }, (_request, reply) => reply.redirect('ui/'));
    await scope.register(fastifyStatic, {
      root: getBuildFolder('ui'),
      prefix: '/ui/',
      decorateReply: false,
      cacheControl: false,
      // For each file, the build also writes a Brotli and a gzip file.
      preCompressed: true,
      // Small files need no range requests. With ranges, an unsatisfiable range would get a 400 response instead of the
      // file.
      acceptRanges: false,
    });
  });
}
