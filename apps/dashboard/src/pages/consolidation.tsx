import { type Consolidation, MemoryError } from '@memoryd/client';
import { useMemo, useState } from 'preact/compat';
import { isConsolidation } from '../events.ts';
import { formatDateTime, formatNumber, formatRelativeTime } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { CorrectionsPanel } from '../parts/corrections-panel.tsx';
import { Nothing } from '../parts/notice.tsx';
import { PagedList } from '../parts/paged-list.tsx';
import { PlanPanel } from '../parts/plan-panel.tsx';
import { getSummary, RunState } from '../parts/run-state.tsx';
import { getTab, Tabs } from '../parts/tabs.tsx';
import { useResource } from '../resource.ts';
import { getAddress, goTo } from '../route.ts';
import { type Memories, useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';

const PAGE_RUNS = 50;
const RUN_PX = 84;

/** Lists the consolidation runs and the suggested corrections. Previews and starts a new run. */
export function ConsolidationPage({ params }: { params: URLSearchParams }) {
  const { scopeKey } = useService();
  const { stats } = useWatch();
  const { value: count, reload } = useResource(loadCorrectionCount, isConsolidation);
  const tab = getTab(params, ['runs', 'corrections']);
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
      <Tabs
        label="Parts of Consolidation"
        view="consolidation"
        current={tab}
        tabs={[
          ['runs', 'Runs'],
          ['corrections', count === undefined ? 'Corrections' : `Corrections ${formatNumber(count)}`],
        ]}
      />
      {tab === 'runs' ? <Runs /> : <CorrectionsPanel params={params} onDecided={reload} />}
    </>
  );
}

/** Returns the number of pending corrections; undefined if the API key may not decide corrections. */
async function loadCorrectionCount(memory: Memories, signal: AbortSignal): Promise<number | undefined> {
  try {
    return (await memory.corrections({ limit: 1 }, { signal })).total;
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'FORBIDDEN') return undefined;
    throw error;
  }
}

function Runs() {
  const load = useMemo(
    (): LoadPage<Consolidation> => async (memory, place, signal) => {
      const page = { limit: PAGE_RUNS, ...place };
      const { consolidations, total, next_cursor } = await memory.consolidations(page, { signal });
      return { items: consolidations, total, next: next_cursor };
    },
    [],
  );
  const pages = usePages(load, isConsolidation);
  const [isPreviewing, setIsPreviewing] = useState(false);
  return (
    <>
      {isPreviewing ? (
        <PlanPanel onDone={(id) => goTo(getAddress('run', { id }))} onCancel={() => setIsPreviewing(false)} />
      ) : (
        <div className="actions">
          <button type="button" className="primary" onClick={() => setIsPreviewing(true)}>
            Preview consolidation
          </button>
        </div>
      )}
      <PagedList
        label="Runs"
        what="runs"
        empty={
          <Nothing title="No runs yet">
            <p>Each run appears here with all its changes.</p>
          </Nothing>
        }
        pages={pages}
        getKey={({ id }) => id}
        estimatePx={RUN_PX}
      >
        {(run) => (
          <div className="row row-line">
            <a href={getAddress('run', { id: run.id })}>{formatDateTime(run.started_at)}</a>
            <RunState run={run} />
            <span className="soft">{getSummary(run)}</span>
          </div>
        )}
      </PagedList>
    </>
  );
}
