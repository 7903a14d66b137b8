import { type Check, createCheck, invalidRequest, MemoryError } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';
import type { FastifySchemaCompiler } from 'fastify';
import { decodeQuery } from './query-parameters.ts';

/** An undecoded query string from the router. Decoding needs the schema of the route. */
export interface RawQuery {
  raw: string;
}

type Outcome = { value: unknown } | { error: Error };

/** Compiles a schema into Fastify's validator with the contract's check, which has a message for each invalid field. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart, method = '', url = '' }) => {
  // Header schemas are documentation; request-headers.ts checks headers, because that file can detect repeated headers.
  if (httpPart === 'headers') return () => true;
  if (httpPart === 'querystring') {
    const check = createCheck(schema, 'query string');
    // The path of a detail names the parameter, not an item of the list that the parameter becomes.
    const flat: Check = (value) => check(value).map((detail) => ({ ...detail, path: parameterPath(detail.path) }));
    const refusesEmpty = refusesEmptyFilters(method, url);
    return (query: RawQuery) => getOutcome(flat, () => decodeQuery(schema, query.raw, { refusesEmpty }));
  }
  const check = httpPart === 'body' ? createCheck(schema, 'body') : createCheck(schema, 'path', ['memory_id', 'id']);
  return (value: unknown) => getOutcome(check, () => value);
};

/** Returns true for a route where a filter that is left out would delete, change or export more. */
export function refusesEmptyFilters(method: string, url: string): boolean {
  return method === 'DELETE' || method === 'PATCH' || url === '/export';
}

function parameterPath(path: string): string {
  const [, parameter = '', key] = path.split('/');
  if (parameter === '' || parameter === 'filter') return path;
  return parameter === 'metadata' && key !== undefined ? `/metadata.${key}` : `/${parameter}`;
}

function getOutcome(check: Check, read: () => unknown): Outcome {
  try {
    const value = read();
    const details = check(value);
    return details.length > 0 ? { error: invalidRequest(details) } : { value };
  } catch (error) {
    if (error instanceof MemoryError) return { error };
    throw error;
  }
}
