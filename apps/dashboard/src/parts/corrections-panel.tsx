import type { Correction } from '@memoryd/client';
import { MemoryError } from '@memoryd/client';
import { useCallback, useState } from 'preact/compat';
import { formatCount, formatDateTime } from '../format.ts';
import { useResource } from '../resource.ts';
import { type Memories, useService } from '../service.tsx';
import { Failure } from './notice.tsx';

/** Maximum listed corrections. Further ones follow once these are decided. */
const MAX_LISTED = 20;

const REASONS: Record<Correction['reason'], string> = {
  change: 'Says that something changed',
  number: 'Another number',
  date: 'Another day',
  name: 'Another name',
  negation: 'No longer denied',
};

/** Lists the pending corrections that consolidation suggests. Renders nothing without any, or without permission. */
export function CorrectionsPanel() {
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.corrections({ limit: MAX_LISTED }, { signal }),
    [],
  );
  const { value, error, reload } = useResource(load);
  if (error instanceof MemoryError && error.code === 'FORBIDDEN') return null;
  if (error !== undefined) return <Failure error={error} onRetry={reload} />;
  if (!value || value.total === 0) return null;
  return (
    <section aria-labelledby="corrections-title">
      <h2 id="corrections-title">Suggested corrections</h2>
      <p className="soft">
        {formatCount(value.total, 'pair')} of which the later memory seems to correct the earlier one. Nothing changes
        until you accept.
      </p>
      <ul className="plain">
        {value.corrections.map((correction) => (
          <CorrectionRow key={correction.id} correction={correction} />
        ))}
      </ul>
      {value.total > value.corrections.length && (
        <button type="button" onClick={reload}>
          Show more
        </button>
      )}
    </section>
  );
}

/** A pair with its decision. A decided pair stays until the list is loaded again, so that the decision can be undone. */
function CorrectionRow({ correction: { id, reason, earlier, later } }: { correction: Correction }) {
  const { memory, handleAuthError } = useService();
  const [state, setState] = useState<Correction['state']>('pending');
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const decide = async (accept: boolean) => {
    setIsBusy(true);
    setError(undefined);
    try {
      setState((await memory.decideCorrection(id, { accept })).state);
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
    }
    setIsBusy(false);
  };
  return (
    <li className="panel">
      <p>
        <strong>{REASONS[reason]}</strong>
      </p>
      <p>
        <span className="soft">Later, {formatDateTime(later.created_at)}:</span> {later.content}
      </p>
      <p>
        <span className="soft">Earlier, {formatDateTime(earlier.created_at)}:</span> {earlier.content}
      </p>
      {error !== undefined && <Failure error={error} />}
      <div className="actions">
        {state !== 'pending' && <span role="status">{state === 'accepted' ? 'Accepted' : 'Declined'}</span>}
        {state !== 'accepted' && (
          <button type="button" disabled={isBusy} onClick={() => decide(true)}>
            {state === 'declined' ? 'Accept instead' : 'Accept'}
          </button>
        )}
        {state !== 'declined' && (
          <button type="button" disabled={isBusy} onClick={() => decide(false)}>
            {state === 'accepted' ? 'Undo' : 'Decline'}
          </button>
        )}
      </div>
    </li>
  );
}
