import fastifyStatic from '@fastify/static';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { builtFolder } from '../built-folder.ts';

/** The pages load from this server alone; both libraries style by attribute. */
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

/** Redoc searches in a worker that it makes itself. */
const REDOC_POLICY = `${PAGE_POLICY}; worker-src blob:`;

const REDOC_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memoryd</title>
<link rel="icon" href="data:,">
<style>body { margin: 0 }</style>
</head>
<body>
<redoc spec-url="/openapi.json"></redoc>
<script src="/redoc/redoc.standalone.js"></script>
</body>
</html>
`;

const page = { schema: { hide: true }, config: { access: 'anyone' } } as const;

/** Serves `/openapi.json`, Swagger UI at `/docs` and Redoc at `/redoc`; the OpenAPI document must be registered. */
export async function registerDocsPages(app: FastifyInstance): Promise<void> {
  app.get('/openapi.json', page, () => app.swagger());
  await app.register(async (scope) => {
    openToAnyone(scope);
    await scope.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: PAGE_POLICY,
      theme: { title: 'memoryd' },
    });
    await scope.register(fastifyStatic, {
      root: builtFolder('redoc'),
      prefix: '/redoc/',
      decorateReply: false,
      // As with the files of `/ui`.
      acceptRanges: false,
    });
  });
  app.get('/redoc', page, (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('Content-Security-Policy', REDOC_POLICY).send(REDOC_PAGE),
  );
}

/** Lets the routes that a plugin adds to a scope be asked for without a key. */
export function openToAnyone(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: 'anyone' };
  });
}
