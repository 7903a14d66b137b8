import { type Redacted, redactRequest, type Texts } from '@memoryd/core/operations';
import { knownFormats } from './redacting/known-formats.ts';

/** Removes secrets of known formats from the texts of a request, as an import does before it stores them. */
export function removeSecrets<Request extends Texts>(request: Request): Redacted<Request> {
  return redactRequest(knownFormats, request);
}
