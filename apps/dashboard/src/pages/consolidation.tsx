import type { Consolidation } from '@memoryd/client';
import { useMemo, useState } from 'preact/compat';
import { formatDateTime, formatRelativeTime } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { CorrectionsPanel } from '../parts/corrections-panel.tsx';
import { Failure, Loading, Nothing } from '../parts/notice.tsx';
import { PlanPanel } from '../parts/plan-panel.tsx';
import { getSummary, RunState } from '../parts/run-state.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress, goTo } from '../route.ts';
import { useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';

const PAGE_RUNS = 50;
const RUN_PX = 84;

/** Lists the consolidation runs. Previews and starts a new run. */
export function ConsolidationPage() {
  const { scopeKey } = useService();
  const { stats } = useWatch();
  const load = useMemo(
    (): LoadPage<Consolidation> => async (memory, cursor, signal) => {
      const page = { limit: PAGE_RUNS, ...(cursor !== undefined && { cursor }) };
      const { consolidations, total, next_cursor } = await memory.consolidations(page, { signal });
      return { items: consolidations, total, next: next_cursor };
    },
    [],
  );
  const { items, total, isLoaded, error, loadMore, retry } = usePages(load);
  const [isPreviewing, setIsPreviewing] = useState(false);
  return (
    <>
      <header className="title">
        <h1>Consolidation</h1>
        <p className="soft">
          Promotes new memories, merges exact duplicates and distills related memories. A run can be undone, together
          with the runs after it.
          {stats?.next_sleep_at && ` Next run ${formatRelativeTime(stats.next_sleep_at)}.`}
          {scopeKey !== '' && ' Runs cover all users and agents.'}
        </p>
      </header>
      {isPreviewing ? (
        <PlanPanel onDone={(id) => goTo(getAddress('run', { id }))} onCancel={() => setIsPreviewing(false)} />
      ) : (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setIsPreviewing(true)}>
            Preview consolidation
          </button>
        </div>
      )}
      <CorrectionsPanel />
      <h2>Runs</h2>
      {!isLoaded && error === undefined && <Loading what="runs" />}
      {isLoaded && total === 0 && (
        <Nothing title="No runs yet">
          <p>Each run appears here with all its changes.</p>
        </Nothing>
      )}
      {items.length > 0 && (
        <VirtualList
          label="Runs"
          items={items}
          total={total}
          getKey={({ id }) => id}
          estimatePx={RUN_PX}
          onNearEnd={loadMore}
        >
          {(run) => (
            <div className="row row-line">
              <a href={getAddress('run', { id: run.id })}>{formatDateTime(run.started_at)}</a>
              <RunState run={run} />
              <span className="soft">{getSummary(run)}</span>
            </div>
          )}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}
