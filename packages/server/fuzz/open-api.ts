import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

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
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

/** Whether a value is as a schema of the document says. */
type Validate = ValidateFunction;

/** A schema together with its check. */
interface CheckedSchema {
  schema: Schema;
  validate: Validate;
}

/** A route and method as the document describes them. */
export interface Operation {
  /** Such as `GET /memories/{memory_id}`. */
  name: string;
  method: string;
  path: string;
  parameters: (Parameter & { validate: Validate })[];
  /** What a body may be, by its content type; none where the operation takes no body. */
  bodies: Map<string, CheckedSchema>;
  /** What an answer may be, by status and media type; no check where the document gives no schema. */
  answers: Map<number, Map<string, Validate | undefined>>;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

export interface OpenApi {
  paths: Record<
    string,
    Record<string, { parameters?: Parameter[]; requestBody?: Content; responses: Record<string, Content> }>
  >;
}

/** Every operation of an OpenAPI document, its schemas compiled by a validator that is not the service's own. */
export function getOperations(document: OpenApi): Operation[] {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  // By reference, so that references within the schema find what the document holds.
  const compile = (...steps: string[]): Validate => ajv.compile({ $ref: `document#${pointer(['paths', ...steps])}` });
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters: (described.parameters ?? []).map((parameter, i) => ({
        ...parameter,
        validate: compile(path, method, 'parameters', String(i), 'schema'),
      })),
      bodies: new Map(
        Object.entries(described.requestBody?.content ?? {}).map(([type, { schema = {} }]) => [
          type,
          { schema, validate: compile(path, method, 'requestBody', 'content', type, 'schema') },
        ]),
      ),
      answers: new Map(
        Object.entries(described.responses).map(([status, { content = {} }]) => [
          Number(status),
          new Map(
            Object.entries(content).map(([type, { schema }]) => [
              type,
              schema && compile(path, method, 'responses', status, 'content', type, 'schema'),
            ]),
          ),
        ]),
      ),
    })),
  );
}

function pointer(steps: string[]): string {
  const escaped = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
  return `/${escaped.join('/')}`;
}
