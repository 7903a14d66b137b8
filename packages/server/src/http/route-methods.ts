import type { RouteOptions } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route only refuses its methods, so that `Allow` must not list them. */
    refusesMethod?: boolean;
  }
}

interface RouteEntry {
  pattern: RegExp;
  methods: Set<string>;
}

/** The HTTP methods of all routes, by path. */
export class RouteMethods {
  readonly #routes = new Map<string, RouteEntry>();

  add({ url, method, config }: Pick<RouteOptions, 'url' | 'method' | 'config'>): void {
    // The preflight route of the CORS plugin matches every path.
    if (url === '*' || config?.refusesMethod) return;
    const segments = url.split('/').map(toSegmentPattern);
    const route = this.#routes.get(url) ?? { pattern: new RegExp(`^${segments.join('/')}$`), methods: new Set() };
    for (const one of [method].flat()) route.methods.add(one);
    this.#routes.set(url, route);
  }

  /** Returns the methods of a path in alphabetical order; empty for an unknown path. */
  at(path: string): string[] {
    return this.#list(({ pattern }) => pattern.test(path));
  }

  /** Returns the methods of all paths in alphabetical order. */
  all(): string[] {
    return this.#list(() => true);
  }

  #list(isIncluded: (route: RouteEntry) => boolean): string[] {
    const routes = [...this.#routes.values()].filter(isIncluded);
    return [...new Set(routes.flatMap(({ methods }) => [...methods]))].sort();
  }
}

function toSegmentPattern(segment: string): string {
  if (segment === '*') return '.*';
  return segment.startsWith(':') ? '[^/]+' : escapeForRegExp(segment);
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
