import type { RouteOptions } from 'fastify';

/** The HTTP methods of all routes, by path. */
export class RouteMethods {
  readonly #routes = new Map<string, { pattern: RegExp; methods: Set<string> }>();

  add({ url, method }: Pick<RouteOptions, 'url' | 'method'>): void {
    // The preflight route of the CORS plugin matches every path.
    if (url.includes('*')) return;
    const segments = url.split('/').map((segment) => (segment.startsWith(':') ? '[^/]+' : escapeForRegExp(segment)));
    const route = this.#routes.get(url) ?? { pattern: new RegExp(`^${segments.join('/')}$`), methods: new Set() };
    for (const one of [method].flat()) route.methods.add(one);
    this.#routes.set(url, route);
  }

  /** Returns the methods of a path in alphabetical order; empty for an unknown path. */
  at(path: string): string[] {
    const routes = [...this.#routes.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(routes.flatMap(({ methods }) => [...methods]))].sort();
  }
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
