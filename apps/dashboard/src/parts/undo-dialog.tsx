import type { LaterConsolidations } from '@memoryd/client';
import { useCallback } from 'preact/compat';
import { useAction } from '../action.ts';
import { formatCount, formatDateTime, formatNumber } from '../format.ts';
import { useResource } from '../resource.ts';
import { type Memories, useService } from '../service.tsx';
import { FormDialog } from './form-dialog.tsx';
import { Failure, Loading } from './notice.tsx';

/** Maximum later runs that the dialog lists, so that its buttons stay in view. */
const MAX_LISTED_RUNS = 10;

interface UndoDialogProps {
  runId: string;
  onDone: () => void;
  onClose: () => void;
}

/** Asks for confirmation and undoes a consolidation run, with the later runs that must be undone first. */
export function UndoDialog({ runId, onClose, onDone }: UndoDialogProps) {
  const { memory } = useService();
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal) =>
      (await memory.consolidation({ id: runId, limit: 1 }, { signal })).later,
    [runId],
  );
  const { value: later, loading, error } = useResource(load);
  const laterCount = later?.total ?? 0;
  const undo = useAction(async () => {
    await memory.undo(runId, { with_later: laterCount > 0 });
    onDone();
  }, onClose);
  return (
    <FormDialog
      title={laterCount > 0 ? 'Undo this run and later runs?' : 'Undo this run?'}
      action={undo}
      label={laterCount > 0 ? `Undo ${formatCount(laterCount + 1, 'run')}` : 'Undo run'}
      isDanger
      isReady={!loading}
      onClose={onClose}
    >
      {loading && <Loading what="later runs" />}
      {later && laterCount > 0 && <LaterRuns later={later} />}
      <p>
        This restores every memory that {laterCount > 0 ? 'these runs' : 'the run'} changed. The next run may make the
        same changes again.
      </p>
      <Failure error={error} />
    </FormDialog>
  );
}

function LaterRuns({ later: { total, consolidations } }: { later: LaterConsolidations }) {
  const listed = consolidations.slice(0, MAX_LISTED_RUNS);
  return (
    <>
      <p>This also undoes the {total === 1 ? 'later run' : `${formatNumber(total)} later runs`}, newest first:</p>
      <ul className="plain">
        {listed.map(({ id, started_at }) => (
          <li key={id}>{formatDateTime(started_at)}</li>
        ))}
        {total > listed.length && <li>and {formatCount(total - listed.length, 'earlier run')}</li>}
      </ul>
    </>
  );
}
