import { DEFAULTS } from '@memoryd/contract';
import type { PageRequest } from '../ports/page.ts';
import type { Core } from './core.ts';
import type { Cursors } from './cursor.ts';

/** The page that a request asks for, as storage takes it. A cursor that was never given out is refused. */
export function pageRequest<Place>(
  core: Core,
  request: { limit?: number; cursor?: string },
  cursors: Cursors<Place>,
): PageRequest<Place> {
  return {
    limit: request.limit ?? DEFAULTS.pageItems,
    maxBytes: core.maxAnswerBytes,
    ...(request.cursor !== undefined && { after: cursors.read(core.seal, request.cursor) }),
  };
}
