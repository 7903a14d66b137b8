import * as contract from '@memoryd/contract';
import { IsSchema } from '@memoryd/contract/typebox';
import { UpdateManyBody } from './routes/changes.ts';
import { ContextBody } from './routes/context.ts';
import { HookResponse } from './routes/hooks.ts';
import { RecallBody } from './routes/recall.ts';

type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
  [name: string]: Json;
}

/** Components that are not named after their export, such as `Error` for the body of an error. */
const RENAMED: Readonly<Record<string, string>> = {
  ErrorResponse: 'Error',
  SessionSummary: 'Session',
  FilterExpression: 'Filter',
  // These describe query strings, which the document lists parameter by parameter. The bodies take their names.
  Filter: 'FilterFields',
  RecallRequest: 'RecallParameters',
  ContextRequest: 'ContextParameters',
};

const SCHEMAS: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(Object.entries(contract).map(([name, value]) => [RENAMED[name] ?? name, value])),
  RecallRequest: RecallBody,
  ContextRequest: ContextBody,
  HookResponse,
  UpdateManyRequest: UpdateManyBody,
};

/** Keywords that describe the place of use. A schema with other values of them is still the same component. */
const ANNOTATIONS = new Set(['description', 'default', 'x-must', 'x-null', 'x-response-description']);
const EXAMPLES = new Set(['example', 'examples']);

interface Component {
  name: string;
  schema: JsonObject;
}

/**
 * Replaces each schema of an OpenAPI document that equals an object, enumeration or union of the contract by a reference
 * to a component with the name of the export. Scalars and arrays stay in place, because an alias of `string` tells a
 * reader of generated code nothing. Only components that the document uses are added.
 */
export function withComponents<Document extends object>(document: Document): Document {
  const components = new Map<string, Json>();
  const replaceIn = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(replaceIn);
    if (typeof value !== 'object' || value === null) return value;
    const component = findComponent(value);
    if (!component) return replaceInside(value);
    const { name, schema } = component;
    if (!components.has(name)) {
      // Reserves the place before the parts of the component are added.
      components.set(name, null);
      components.set(name, replaceInside(withDescribedDefaults(schema)));
    }
    return { $ref: `#/components/schemas/${name}`, ...getOwnAnnotations(value, schema) };
  };
  const replaceInside = (object: JsonObject): JsonObject => mapValues(object, replaceIn);
  const { paths, components: others, ...rest } = toJson(document) as { paths: JsonObject; components: JsonObject };
  const replaced = replaceInside(paths);
  const schemas = Object.fromEntries([...components].sort(([one], [other]) => (one < other ? -1 : 1)));
  return { ...rest, components: { ...others, schemas }, paths: replaced } as unknown as Document;
}

/**
 * Moves the defaults of fields to their descriptions. With the keyword, openapi-typescript makes a field required, and
 * clients of openapi-python-client send the default of each absent field, which overwrites the stored value if a memory
 * with the same `external_id` exists.
 */
function withDescribedDefaults(schema: JsonObject): JsonObject {
  if (schema.properties === undefined) return schema;
  const describe = (field: Json): Json => {
    const { default: byDefault, ...others } = field as JsonObject;
    if (byDefault === undefined) return field;
    const { description = '', anyOf } = others;
    return {
      ...others,
      description: `${description} Default: \`${JSON.stringify(byDefault)}\`.`.trim(),
      ...(Array.isArray(anyOf) && { anyOf: anyOf.map(withoutDefault) }),
    };
  };
  return { ...schema, properties: mapValues(schema.properties as JsonObject, describe) };
}

function withoutDefault(schema: Json): Json {
  const { default: _default, ...others } = schema as JsonObject;
  return others;
}

/** Returns the annotations of a place of use that the component does not have. */
function getOwnAnnotations(value: JsonObject, component: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([name, annotation]) => ANNOTATIONS.has(name) && annotation !== component[name]),
  );
}

const BY_CONTENT = groupByContent();

function groupByContent(): Map<string, Component[]> {
  const groups = new Map<string, Component[]>();
  for (const [name, value] of Object.entries(SCHEMAS)) {
    if (!IsSchema(value)) continue;
    const schema = toJson(value) as JsonObject;
    if (!isNameable(schema)) continue;
    const key = toKey(schema);
    groups.set(key, [...(groups.get(key) ?? []), { name, schema }]);
  }
  return groups;
}

/**
 * Returns the component of a schema. Maps of different meaning may have the same content; among these, the component has
 * the same description, or as a parameter, which has lost its description, the same rule.
 */
function findComponent(value: JsonObject): Component | undefined {
  if (!isNameable(value)) return undefined;
  const candidates = BY_CONTENT.get(toKey(value)) ?? [];
  if (candidates.length === 1) return candidates[0];
  const isSame = (annotation: string) => (component: Component) =>
    value[annotation] !== undefined && component.schema[annotation] === value[annotation];
  return candidates.find(isSame('description')) ?? candidates.find(isSame('x-must'));
}

function isNameable({ type, enum: values, anyOf }: JsonObject): boolean {
  if (Array.isArray(anyOf)) return !anyOf.some((one) => (one as JsonObject).type === 'null');
  return type === 'object' || Array.isArray(values);
}

/** Returns a text that is equal for schemas with equal content, regardless of annotations of the outermost schema. */
function toKey(schema: JsonObject): string {
  const entries = Object.entries(schema).filter(([name]) => !ANNOTATIONS.has(name));
  return JSON.stringify(Object.fromEntries(entries), (name, value) => {
    if (EXAMPLES.has(name)) return undefined;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}

/** Returns the JSON of a value. Schemas of maps get the form that generators know: `additionalProperties`. */
function toJson(value: object): Json {
  return JSON.parse(JSON.stringify(value), (_name, inner) => {
    if (typeof inner?.patternProperties !== 'object') return inner;
    const { patternProperties, ...others } = inner;
    return { ...others, additionalProperties: Object.values(patternProperties)[0] };
  });
}

function mapValues(object: JsonObject, map: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(value)]));
}
