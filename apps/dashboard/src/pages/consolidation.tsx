import type { Consolidation } from '@memoryd/client';
import { useMemo, useState } from 'react';
import { distance, moment } from '../format.ts';
import { type AskPage, usePages } from '../pages.ts';
import { Failure, Nothing, Waiting } from '../parts/notice.tsx';
import { PlanPanel } from '../parts/plan-panel.tsx';
import { getSummary, RunState } from '../parts/run-state.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress, goTo } from '../place.ts';
import { useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';

const PAGE_RUNS = 50;
const RUN_PX = 84;

/** What sleep did, and what it would do now. */
export function ConsolidationPage() {
  const { shownFor } = useService();
  const { stats } = useWatch();
  const ask = useMemo(
    (): AskPage<Consolidation> => async (memory, cursor, signal) => {
      const page = { limit: PAGE_RUNS, ...(cursor !== undefined && { cursor }) };
      const { consolidations, total, next_cursor } = await memory.consolidations(page, { signal });
      return { items: consolidations, total, next: next_cursor };
    },
    [],
  );
  const { items, total, begun, error, loadMore, retry } = usePages(ask);
  const [planning, setPlanning] = useState(false);
  return (
    <>
      <header className="title">
        <h1>Sleep</h1>
        <p className="soft">
          Promotes what is new, merges exact duplicates, distils what belongs together. Nothing is lost by it.
          {stats?.next_sleep_at && ` Next ${distance(stats.next_sleep_at)}.`}
          {shownFor !== '' && ' Runs are about all users and agents.'}
        </p>
      </header>
      {planning ? (
        <PlanPanel onDone={(id) => goTo(getAddress('run', { id }))} onCancel={() => setPlanning(false)} />
      ) : (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setPlanning(true)}>
            See what sleep would do now
          </button>
        </div>
      )}
      <h2>Runs</h2>
      {!begun && error === undefined && <Waiting what="runs" />}
      {begun && total === 0 && (
        <Nothing title="No run yet">
          <p>Each run leaves a record here, with all that it changed.</p>
        </Nothing>
      )}
      {items.length > 0 && (
        <VirtualList
          label="Runs"
          items={items}
          total={total}
          getKey={({ id }) => id}
          estimate={RUN_PX}
          onNearEnd={loadMore}
        >
          {(run) => (
            <div className="row row-line">
              <a href={getAddress('run', { id: run.id })}>{moment(run.started_at)}</a>
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
