import {
  assertValid,
  type Correction,
  CorrectionsRequest,
  type CorrectionsResponse,
  createCheck,
  DecideCorrectionRequest,
  type DecideCorrectionResponse,
  isStorable,
  MemoryError,
  type OwnScopeRequest,
} from '@memoryd/contract';
import { pageEnd, pageRequest, textCursors } from '../cursor.ts';
import type { CorrectionSide, SuggestedCorrection } from '../ports/storage-corrections.ts';
import { toOwner, toOwnerFilter } from '../request-filter.ts';
import { toTimestamp, toTimestampOrNull } from '../time.ts';
import { toConditionOwner } from './change-memories.ts';
import type { Core } from './core.ts';

const checkMany = createCheck(CorrectionsRequest, 'request');
const checkDecision = createCheck(DecideCorrectionRequest, 'body');
/** The page position is the id of the last correction. */
const cursors = textCursors('corrections');

/** See `MemoryApi.corrections`. */
export async function corrections(
  core: Core,
  namespace: string,
  request: CorrectionsRequest = {},
): Promise<CorrectionsResponse> {
  assertValid(checkMany, request);
  const { state = 'pending' } = request;
  const of = toOwnerFilter(request);
  const selection = { namespace, filters: { ...of, state } };
  const paging = pageRequest(core, request, cursors, selection);
  const page = await core.storage.corrections(namespace, state, paging, core.clock.now(), of);
  return { corrections: page.items.map(toCorrection), ...pageEnd(core, page, cursors, selection) };
}

/** See `MemoryApi.decideCorrection`. */
export async function decideCorrection(
  core: Core,
  namespace: string,
  correctionId: string,
  request: DecideCorrectionRequest,
  scope: OwnScopeRequest = {},
): Promise<DecideCorrectionResponse> {
  assertValid(checkDecision, request);
  const of = toConditionOwner(scope);
  const { accept } = request;
  // SQLite and PostgreSQL treat other ids differently.
  const decided = isStorable(correctionId)
    ? await core.storage.decideCorrection({ namespace, id: correctionId, accept, at: core.clock.now(), of })
    : ({ outcome: 'unknown' } as const);
  switch (decided.outcome) {
    case 'unknown':
      throw new MemoryError('NOT_FOUND', 'correction not found');
    case 'outdated':
      throw new MemoryError(
        'CONFLICT',
        'the correction can no longer be accepted, because one of its memories was changed, superseded or ended since, or supersedes another memory; update the later memory with supersedes instead',
      );
    case 'decided': {
      const { changed } = decided;
      if (changed) {
        const { id, owner, before } = changed;
        core.events.publishMemories(namespace, 'updated', [{ id, ...owner, ...before }]);
      }
      return { id: correctionId, state: accept ? 'accepted' : 'declined' };
    }
  }
}

function toCorrection(correction: SuggestedCorrection): Correction {
  const { id, state, reason, earlier, later, suggestedAt, decidedAt } = correction;
  return {
    ...{ id, state, reason, earlier: toSide(earlier), later: toSide(later), ...toOwner(correction) },
    suggested_at: toTimestamp(suggestedAt),
    decided_at: toTimestampOrNull(decidedAt),
  };
}

function toSide({ id, content, createdAt }: CorrectionSide): Correction['earlier'] {
  return { id, content, created_at: toTimestamp(createdAt) };
}
