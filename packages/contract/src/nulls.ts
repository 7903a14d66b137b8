import { NULL_MEANING, orNull } from './field.ts';
import Type, { type TObject, type TSchema, type TSchemaOptions } from './typebox.ts';

/** A request without its null fields, except the fields `Cleared`, which null clears. */
export type WithoutNulls<Request, Cleared extends keyof Request = never> = {
  [Field in keyof Request]: Field extends Cleared ? Request[Field] : Exclude<Request[Field], null>;
};

/**
 * Returns a value without the null fields that mean the same as absent fields (see `orNull`). Models and many clients
 * send null for a field that they leave out. Returns a value that is not an object unchanged.
 */
export function withoutNullFields(schema: TObject, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value);
  const given = fields.filter(([field, content]) => content !== null || !isAbsentIfNull(schema, field));
  return given.length === fields.length ? value : Object.fromEntries(given);
}

function isAbsentIfNull({ properties }: TObject, field: string): boolean {
  return Object.hasOwn(properties, field) && NULL_MEANING in (properties[field] as object);
}

/** Returns a schema that also accepts null in each field that may be absent. */
export function withNullFields({ properties, required, type: _type, ...options }: TObject): TObject {
  const fields = Object.entries(properties as Record<string, TSchema>);
  const nullable = fields.map(([field, schema]): [string, TSchema] => {
    const isRequired = (required as readonly string[] | undefined)?.includes(field);
    return [field, isRequired || acceptsNull(schema) ? schema : orNull(schema)];
  });
  return Type.Object(Object.fromEntries(nullable), options as TSchemaOptions);
}

function acceptsNull(schema: TSchema & { type?: string; anyOf?: TSchema[] }): boolean {
  return schema.type === 'null' || (schema.anyOf ?? []).some(acceptsNull);
}
