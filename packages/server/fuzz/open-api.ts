import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { resolveReferences } from '../src/reference-pages/resolve-references.ts';

/** The part of JSON Schema that the document uses. */
export interface Schema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minProperties?: number;
  propertyNames?: { minLength?: number };
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
  /** Schema of the JSON in a string. */
  contentSchema?: Schema;
  /** Schema of a line of a text. */
  'x-line-schema'?: Schema;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
  /** Whether the value is the JSON of a value that matches the schema. */
  isJson: boolean;
}

/** Returns whether a value matches a schema of the document. */
type Validate = ValidateFunction;

/** A schema with its validator. */
interface CheckedSchema {
  schema: Schema;
  validate: Validate;
}

/** A route and method of the document. */
export interface Operation {
  /** Such as `GET /memories/{memory_id}`. */
  name: string;
  method: string;
  path: string;
  parameters: (Parameter & { validate: Validate })[];
  /** Schemas of the request body by content type; empty if the operation takes no body. */
  bodies: Map<string, CheckedSchema>;
  /** Validators of responses by status and media type; `undefined` without a schema in the document. */
  responses: Map<number, Map<string, Validate | undefined>>;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

export interface OpenApi {
  paths: Record<
    string,
    Record<
      string,
      { parameters?: Omit<Parameter, 'isJson'>[]; requestBody?: Content; responses: Record<string, Content> }
    >
  >;
}

/** Returns every operation of an OpenAPI document. Its schemas are compiled with a different validator than the service's. */
export function getOperations(document: OpenApi): Operation[] {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  // By reference, so that each component is compiled once.
  const compile = (...steps: string[]): Validate => ajv.compile({ $ref: `document#${pointer(['paths', ...steps])}` });
  return Object.entries(resolveReferences(document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, description]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: (description.parameters ?? []).map((parameter, i) => ({
        ...parameter,
        schema: parameter.schema.contentSchema ?? parameter.schema,
        isJson: parameter.schema.contentSchema !== undefined,
        validate: compile(path, method, 'parameters', String(i), ...getSteps(parameter.schema, 'contentSchema')),
      })),
      bodies: new Map(
        Object.entries(description.requestBody?.content ?? {}).map(([type, { schema = {} }]) => [
          type,
          {
            schema: schema['x-line-schema'] ?? schema,
            validate: compile(path, method, 'requestBody', 'content', type, ...getSteps(schema, 'x-line-schema')),
          },
        ]),
      ),
      responses: new Map(
        Object.entries(description.responses).map(([status, { content = {} }]) => [
          Number(status),
          new Map(
            Object.entries(content).map(([type, { schema }]) => [
              type,
              schema &&
                compile(path, method, 'responses', status, 'content', type, ...getSteps(schema, 'x-line-schema')),
            ]),
          ),
        ]),
      ),
    })),
  );
}

/** Returns the steps to a schema, or to the schema of its content. */
function getSteps(schema: Schema, content: 'contentSchema' | 'x-line-schema'): string[] {
  return schema[content] ? ['schema', content] : ['schema'];
}

function pointer(steps: string[]): string {
  const escaped = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
  return `/${escaped.join('/')}`;
}
