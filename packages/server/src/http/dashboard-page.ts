import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { builtFolder } from '../built-folder.ts';
import { openToAnyone } from './docs-pages.ts';

/**
 * The page loads from this server alone, styles by its sheet alone, and can make no markup of a text: nothing may become
 * trusted HTML.
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

/** Names of built files hold a digest of what is in them. */
const NEVER_CHANGES = 'public, max-age=31536000, immutable';

/** Serves the dashboard at `/ui/`, to anyone: what it shows it asks of the interface, with a key where one is needed. */
export async function registerDashboardPage(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    openToAnyone(scope);
    scope.addHook('onSend', async ({ url }, reply) => {
      if (reply.statusCode >= 400) return;
      reply.header('Content-Security-Policy', DASHBOARD_POLICY);
      reply.header('Cache-Control', url.startsWith('/ui/assets/') ? NEVER_CHANGES : 'no-cache');
    });
    // Relative, so that it stays where it is behind a proxy with a path.
    scope.get('/ui', { schema: { hide: true } }, (_request, reply) => reply.redirect('ui/'));
    await scope.register(fastifyStatic, {
      root: builtFolder('ui'),
      prefix: '/ui/',
      decorateReply: false,
      cacheControl: false,
      // Files this small are sent whole: a range that cannot be had would be answered 400, which it is not.
      acceptRanges: false,
    });
  });
}
