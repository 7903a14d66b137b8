import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { getBuildFolder } from '../built-folder.ts';
import { DOCS_SCRIPT, LINKS_STYLE, REDOC_PAGE, REDOC_SCRIPT } from './docs-page-texts.ts';

/**
 * Content security policy of the pages: resources only from this server, and images and fonts in data URLs. Swagger UI
 * and Redoc need inline styles.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Redoc's search runs in a worker from a blob URL. */
const REDOC_POLICY = `${PAGE_POLICY}; worker-src blob:`;

const page = { schema: { hide: true }, config: { access: 'anyone' } } as const;

/** Serves `/openapi.json`, Swagger UI at `/docs` and Redoc at `/redoc`; the OpenAPI document must be registered. */
export async function registerDocsPages(app: FastifyInstance): Promise<void> {
  const content = readIcon();
  app.get('/openapi.json', page, () => app.swagger());
  await app.register(async (scope) => {
    openToAnyone(scope);
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: PAGE_POLICY,
      logo: { type: 'image/svg+xml', content },
      theme: {
        title: 'memoryd',
        css: [{ filename: 'links.css', content: LINKS_STYLE }],
        js: [{ filename: 'links.js', content: DOCS_SCRIPT }],
        favicon: [{ filename: 'icon.svg', rel: 'icon', sizes: 'any', type: 'image/svg+xml', content }],
      },
    });
    await scope.register(fastifyStatic, {
      root: getBuildFolder('redoc'),
      prefix: '/redoc/',
      decorateReply: false,
      // See `registerDashboardPage`.
      acceptRanges: false,
    });
  });
  app.get('/redoc/page.js', page, (_request, reply) =>
    reply.type('application/javascript; charset=utf-8').send(REDOC_SCRIPT),
  );
  app.get('/redoc', page, (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('Content-Security-Policy', REDOC_POLICY).send(REDOC_PAGE),
  );
}

/** Makes all routes that are later added to a Fastify scope accessible without a key. */
export function openToAnyone(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: 'anyone' };
  });
}

/** Reads memoryd's icon from the built dashboard, where the file name contains a hash of the content. */
function readIcon(): string {
  const folder = join(getBuildFolder('ui'), 'assets');
  const name = readdirSync(folder).find((file) => /^icon-.*\.svg$/.test(file));
  if (name === undefined) throw new Error(`no icon in ${folder}; create it with npm run build`);
  return readFileSync(join(folder, name), 'utf8');
}
