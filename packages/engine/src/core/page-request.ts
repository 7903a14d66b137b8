import { DEFAULTS } from '@memoryd/contract';
import type { PageRequest } from '../ports/storage.ts';
import type { Core } from './core.ts';

/** The page that a request asks for, as storage takes it. `fromCursor` refuses a cursor that was never given out. */
export function pageRequest<Place>(
  core: Core,
  request: { limit?: number; cursor?: string },
  fromCursor: (cursor: string) => Place,
): PageRequest<Place> {
  return {
    limit: request.limit ?? DEFAULTS.pageItems,
    maxBytes: core.maxAnswerBytes,
    ...(request.cursor !== undefined && { after: fromCursor(request.cursor) }),
  };
}
