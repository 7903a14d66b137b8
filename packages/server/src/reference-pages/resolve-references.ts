const COMPONENT = '#/components/schemas/';

/**
 * Returns an OpenAPI document in which each reference to a schema is replaced by the schema, with the fields that stand
 * beside the reference. The schemas of the service do not contain themselves.
 */
export function resolveReferences<Document extends object>(document: Document): Document {
  const { components } = document as { components?: { schemas?: Record<string, unknown> } };
  const schemas = components?.schemas ?? {};
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...fields } = value as { $ref?: string };
    const own = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, resolve(field)]));
    if (typeof $ref !== 'string') return own;
    return { ...(resolve(schemas[$ref.slice(COMPONENT.length)]) as object), ...own };
  };
  return resolve(document) as Document;
}
