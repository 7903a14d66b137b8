import fc from 'fast-check';
import type { Request } from '../conformance/http.ts';

/** Requests for the documentation pages and their files, which the OpenAPI document does not contain. */
export const pageRequest: fc.Arbitrary<Request> = fc
  .tuple(
    fc.constantFrom('/docs', '/docs/', '/docs/static/', '/redoc', '/redoc/', '/openapi.json'),
    fc.oneof(
      fc.constantFrom('', 'index.html', 'index.css', 'redoc.standalone.js', 'swagger-initializer.js', '.', '..', '%00'),
      fc.constantFrom('../package.json', '..%2fpackage.json', '..%5cpackage.json', '%2e%2e/%2e%2e/package.json'),
      fc.constantFrom(
        '....//package.json',
        '..;/package.json',
        '%252e%252e%252fpackage.json',
        '//etc/passwd',
        '?a=%zz',
      ),
      fc.webPath(),
    ),
    fc.constantFrom('GET', 'GET', 'HEAD', 'POST', 'DELETE'),
  )
  .map(([path, rest, method]) => ({ method, path: `${path}${rest}` }));
