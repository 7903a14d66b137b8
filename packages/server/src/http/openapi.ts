import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { type TSchema, Type } from '@memoryd/contract/typebox';
import type { FastifySchema } from 'fastify';
import type { Access } from '../caller.ts';
import { VERSION } from '../version.ts';
import { withComponents } from './openapi-components.ts';
import { OWNERS } from './query-parameters.ts';
import { refusesEmptyFilters } from './validation.ts';

/** Options for generating the OpenAPI 3.1 document from the schemas of the routes. */
export const openApiOptions: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'memoryd',
      version: VERSION,
      description:
        'A memory service for AI agents: stores, recalls, updates, forgets and consolidates text memories. ' +
        'Requests from the machine of the service need no API key until one has been created. A key belongs to one ' +
        'namespace and has a scope: `read`, `write` (includes `read`) or `operate` (includes all). With the scope ' +
        '`operate`, the header `X-Memoryd-Namespace` selects another namespace for a request. A key that is bound to a ' +
        'user, an agent or both stores and sees only their memories; `shared=true` adds memories without a user or an ' +
        'agent, which such a key can read but not change. Texts must not contain U+0000 or lone surrogates.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key, as created by `memoryd keys add`.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The same key.' },
      },
    },
    tags: [
      { name: 'memories', description: 'Store, recall, update and forget memories.' },
      { name: 'agents', description: 'Hooks of agent programs.' },
      { name: 'service', description: 'Consolidation and monitoring.' },
      { name: 'administration', description: 'Keys, namespaces and quotas, for operators.' },
    ],
  },
  convertConstToEnum: false,
  transform: ({ schema, url, route }) => ({
    schema: schema && withAccess(withMetadataParameter(schema), route.config?.access ?? 'operate'),
    url,
  }),
  transformObject: (document) =>
    'openapiObject' in document
      ? withComponents(withParameterStyles(document.openapiObject as ApiDocument))
      : document.swaggerObject,
};

interface ApiParameter {
  in: string;
  name: string;
  required?: boolean;
  schema?: object;
}

interface ApiOperation {
  parameters?: ApiParameter[];
}

/** The parts of an OpenAPI document that have parameters. */
interface ApiDocument {
  paths?: Record<string, Record<string, ApiOperation>>;
}

const ANY_KEY = [{ bearer: [] }, { apiKey: [] }];

// Documents a key as required. The description of the document states the only exception: local requests while no key
// exists.
function withAccess(schema: FastifySchema, access: Access): FastifySchema {
  if (access === 'anyone') return { ...schema, security: [{}, ...ANY_KEY] };
  const needed = `Requires an API key with the scope \`${access}\`.`;
  return { ...schema, description: schema.description ? `${schema.description} ${needed}` : needed, security: ANY_KEY };
}

// OpenAPI cannot describe parameters whose names have only a fixed prefix, such as `metadata.room`. It describes the form
// `metadata[room]` as an object in the style `deepObject`; see `withParameterStyles`.
function withMetadataParameter(schema: FastifySchema): FastifySchema {
  const querystring = schema.querystring as { properties?: Record<string, TSchema> } | undefined;
  if (!querystring?.properties?.metadata) return schema;
  const { metadata, ...properties } = querystring.properties;
  const { patternProperties: _patterns, ...limits } = metadata as TSchema & { patternProperties: object };
  const parameter = {
    ...limits,
    additionalProperties: Type.String(),
    propertyNames: { minLength: 1 },
    description:
      'Top-level metadata fields and the values that they must equal: `metadata[room]=1` or `metadata.room=1` for the ' +
      'field `room`. Numbers and booleans compare by their JSON text.',
  };
  return { ...schema, querystring: { ...querystring, properties: { ...properties, metadata: parameter } } };
}

/** Adds two facts that the schema of a route cannot contain: how query parameters are written, and which may be empty. */
function withParameterStyles(document: ApiDocument): ApiDocument {
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, { parameters = [] }] of Object.entries(methods)) {
      const mayBeEmpty = !refusesEmptyFilters(method.toUpperCase(), path);
      for (const parameter of parameters) if (parameter.in === 'query') addStyle(parameter, mayBeEmpty);
    }
  }
  return document;
}

/** A JSON filter is a string with a `contentSchema`: generators ignore or misread a parameter with `content`. */
function addStyle(parameter: ApiParameter, mayBeEmpty: boolean): void {
  const { name, schema, required } = parameter;
  if (name === 'metadata') {
    Object.assign(parameter, { style: 'deepObject', explode: true });
    return;
  }
  if (name === 'filter') {
    parameter.schema = { type: 'string', minLength: 1, contentMediaType: 'application/json', contentSchema: schema };
  }
  // For an array, the keyword would allow an empty text in place of the array.
  const isArray = (schema as { type?: string } | undefined)?.type === 'array';
  if (mayBeEmpty && !required && !isArray && !OWNERS.has(name)) Object.assign(parameter, { allowEmptyValue: true });
}
