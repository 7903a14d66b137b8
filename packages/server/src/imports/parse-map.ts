import { invalidRequest } from '@memoryd/contract';

/**
 * Parses pairs of a field of a memory and a column or field of a file: `content=text,created_at=date`. The format checks
 * that the fields and columns exist.
 *
 * @throws MemoryError INVALID_REQUEST if a pair has no field or no column, or a field occurs twice
 */
export function parseMap(text: string): Record<string, string> {
  const columns = new Map<string, string>();
  for (const pair of text.split(',')) {
    const equals = pair.indexOf('=');
    const field = pair.slice(0, Math.max(0, equals)).trim();
    const column = pair.slice(equals + 1).trim();
    if (field === '' || column === '') throw createError(`be pairs such as content=text, not ${JSON.stringify(pair)}`);
    if (columns.has(field)) throw createError(`have each field once, and ${JSON.stringify(field)} is given twice`);
    columns.set(field, column);
  }
  return Object.fromEntries(columns);
}

function createError(rule: string) {
  return invalidRequest([{ path: '/map', message: `map must ${rule}` }]);
}
