import { type Check, createCheck, invalidRequest, MemoryError } from '@memoryd/contract';
import type { TSchema } from '@memoryd/contract/typebox';
import type { FastifySchemaCompiler } from 'fastify';
import { decodeQuery } from './query-parameters.ts';

/** A query string as the router leaves it: not yet decoded, because only a route's schema says how. */
export interface RawQuery {
  raw: string;
}

type Outcome = { value: unknown } | { error: Error };

/** The contract's check as Fastify's validator: requests are refused with a sentence for each wrong field. */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  // Header schemas describe; request-headers.ts checks, because only it sees a header that came twice.
  if (httpPart === 'headers') return () => true;
  if (httpPart === 'querystring') {
    const check = createCheck(schema, 'query string');
    // Parameters are flat: a detail leads to the parameter, and not into the list that it becomes.
    const flat: Check = (value) => check(value).map((detail) => ({ ...detail, path: parameterPath(detail.path) }));
    return (query: RawQuery) => getOutcome(flat, () => decodeQuery(schema, query.raw));
  }
  const check = httpPart === 'body' ? createCheck(schema, 'body') : createCheck(schema, 'path', ['memory_id', 'id']);
  return (value: unknown) => getOutcome(check, () => value);
};

function parameterPath(path: string): string {
  const [, parameter = '', key] = path.split('/');
  if (parameter === '') return path;
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
