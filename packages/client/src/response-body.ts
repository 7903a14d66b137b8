import { toUnexpectedResponse } from './memory-error.ts';

/** Reads a JSON object. Throws INTERNAL_ERROR for any other body, such as the page of a proxy. */
export async function readJson<T extends object>(response: Response): Promise<T> {
  const body = parseObject<T>(await response.text());
  if (!body) throw toUnexpectedResponse(response, 'a JSON object');
  return body;
}

/** Parses a JSON object. Returns undefined for any other text. */
export function parseObject<T extends object>(text: string): T | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value ? value : undefined;
  } catch {
    return undefined;
  }
}
