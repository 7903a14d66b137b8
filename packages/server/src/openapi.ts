import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type TSchema, Type } from '@fastify/type-provider-typebox';
import type { FastifySchema } from 'fastify';
import { VERSION } from './version.ts';

/** How the OpenAPI 3.1 document follows from the schemas of the routes. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'memoryd',
      version: VERSION,
      description: 'A memory service for AI agents: stores, recalls, updates, forgets and consolidates text memories.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [],
    tags: [
      { name: 'memories', description: 'Storing, finding, changing and forgetting.' },
      { name: 'service', description: 'Consolidation and monitoring.' },
    ],
  },
  convertConstToEnum: false,
  refResolver: { buildLocalReference: (schema, _baseUri, _fragment, index) => String(schema.$id ?? `schema-${index}`) },
  transform: ({ schema, url }) => ({ schema: schema && withMetadataParameter(schema), url }),
};

// OpenAPI has no style for parameters of which only the beginning of the name is fixed.
function withMetadataParameter(schema: FastifySchema): FastifySchema {
  const querystring = schema.querystring as { properties?: Record<string, TSchema> } | undefined;
  if (!querystring?.properties?.metadata) return schema;
  const { metadata: _metadata, ...properties } = querystring.properties;
  const parameter = Type.String({
    description:
      'A top-level metadata field, named in place of `<key>`, and the value it must equal; numbers and booleans ' +
      'compare by their JSON text. At most 16 of them.',
  });
  return { ...schema, querystring: { ...querystring, properties: { ...properties, 'metadata.<key>': parameter } } };
}
