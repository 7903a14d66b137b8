import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type TSchema, Type } from '@memoryd/contract/typebox';
import type { FastifySchema } from 'fastify';
import type { Access } from '../caller.ts';
import { VERSION } from '../version.ts';

/** How the OpenAPI 3.1 document follows from the schemas of the routes. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'memoryd',
      version: VERSION,
      description:
        'A memory service for AI agents: stores, recalls, updates, forgets and consolidates text memories. ' +
        'On the machine of the service no key is needed until one has been made. A key sees one namespace, and may read, ' +
        'write (and read) or operate (and all else). With a key that may operate, the header `X-Memoryd-Namespace` makes a ' +
        'request act in that namespace. A key that is bound to a user, an agent or both stores as them and sees nothing else; ' +
        '`shared=true` adds memories without a user or an agent, which it may read and not change.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, as `memoryd keys add` makes it.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same key.' },
      },
    },
    tags: [
      { name: 'memories', description: 'Storing, finding, changing and forgetting.' },
      { name: 'service', description: 'Consolidation and monitoring.' },
      { name: 'administration', description: 'Keys, namespaces and quotas, for operators.' },
    ],
  },
  convertConstToEnum: false,
  refResolver: { buildLocalReference: (schema, _baseUri, _fragment, index) => String(schema.$id ?? `schema-${index}`) },
  transform: ({ schema, url, route }) => ({
    schema: schema && withAccess(withMetadataParameter(schema), route.config?.access ?? 'operate'),
    url,
  }),
};

const ANY_KEY = [{ bearer: [] }, { apiKey: [] }];

// Where no key was ever made, callers on the machine of the service need none; that is said once, above.
function withAccess(schema: FastifySchema, access: Access): FastifySchema {
  if (access === 'anyone') return { ...schema, security: [{}, ...ANY_KEY] };
  const needed = `Needs a key of the scope \`${access}\`.`;
  return { ...schema, description: schema.description ? `${schema.description} ${needed}` : needed, security: ANY_KEY };
}

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
