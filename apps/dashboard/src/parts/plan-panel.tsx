import type { ConsolidateResponse, ConsolidationPlan } from '@memoryd/client';
import { type ReactNode, useCallback, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { formatNumber } from '../format.ts';
import { useResource } from '../resource.ts';
import { type Memories, useService } from '../service.tsx';
import { ChangeLine, Sources } from './change-row.tsx';
import { MemoryLink } from './labels.tsx';
import { Failure, Loading, Nothing, Notice } from './notice.tsx';

interface PlanPanelProps {
  /** Receives the id of the run, unless the user has left the panel. */
  onDone: (runId: string) => void;
  onCancel: () => void;
}

/** Previews and starts a consolidation run. */
export function PlanPanel({ onDone, onCancel }: PlanPanelProps) {
  const { memory } = useService();
  const load = useCallback(
    (service: Memories, signal: AbortSignal) => service.consolidate({ dry_run: true }, { signal }),
    [],
  );
  const { value, error, loading, reload } = useResource(load);
  const [outcome, setOutcome] = useState<string>();
  const run = useAction(
    () => memory.consolidate(),
    (response) => {
      if (response.id !== undefined) return onDone(response.id);
      setOutcome(describeOutcome(response));
      reload();
    },
  );
  return (
    <section className="panel" aria-labelledby="plan-title" aria-busy={loading}>
      <h2 id="plan-title">Preview</h2>
      <Failure error={error} onRetry={reload} />
      <Failure error={run.error} />
      {outcome !== undefined && <Notice kind="plain">{outcome}</Notice>}
      {!value && loading && <Loading what="the preview" />}
      {value?.plan && <Plan plan={value.plan} />}
      <div className="actions">
        <button type="button" className="primary" disabled={run.isBusy || !value} onClick={() => run.run()}>
          {run.isBusy ? 'Consolidation running…' : 'Run consolidation now'}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </section>
  );
}

function describeOutcome({ self_check: check }: ConsolidateResponse): string {
  return check === 'failed'
    ? 'The run failed its self-check and was rolled back.'
    : 'There was nothing to consolidate.';
}

/** Maximum memories shown per kind of change. */
const MAX_SHOWN = 20;

function Plan({ plan: { promote, merge, distil, evict } }: { plan: ConsolidationPlan }) {
  const { scopeKey } = useService();
  if (promote.total + merge.total + distil.total + evict.total === 0) {
    return <Nothing title="Nothing to consolidate" />;
  }
  return (
    <>
      <Part title="Distill" total={distil.total}>
        {distil.memories.slice(0, MAX_SHOWN).map(({ content, derived_from, refreshes }) => (
          <li key={derived_from.join()}>
            <ChangeLine
              sign="+"
              label={refreshes === undefined ? 'Create a semantic memory' : 'Update a semantic memory'}
              // Hidden in a scope: a plan does not name the user of a text, so the text may be outside the scope.
              {...(scopeKey === '' && { text: content })}
            >
              <Sources ids={derived_from} />
            </ChangeLine>
          </li>
        ))}
      </Part>
      <Part title="Merge" total={merge.total}>
        {merge.memories.slice(0, MAX_SHOWN).map(({ id, merged_into }) => (
          <li key={id}>
            <ChangeLine sign="−" label="Merge into a duplicate" id={id}>
              <span>
                Merge into <MemoryLink id={merged_into} />
              </span>
            </ChangeLine>
          </li>
        ))}
      </Part>
      <Part title="Evict" total={evict.total}>
        {evict.memories.slice(0, MAX_SHOWN).map(({ id, reason }) => (
          <li key={id}>
            <ChangeLine sign="−" label={reason === 'expired' ? 'Evict (expired)' : 'Evict (tier full)'} id={id} />
          </li>
        ))}
      </Part>
      <Part title="Promote" total={promote.total}>
        {promote.memories.slice(0, MAX_SHOWN).map(({ id }) => (
          <li key={id}>
            <ChangeLine sign="~" label="Promote from working to episodic" id={id} />
          </li>
        ))}
      </Part>
    </>
  );
}

function Part({ title, total, children }: { title: string; total: number; children: ReactNode }) {
  if (total === 0) return null;
  return (
    <details className="plan-part">
      <summary>
        {title} <b>{formatNumber(total)}</b>
      </summary>
      <ul className="plain">{children}</ul>
      {total > MAX_SHOWN && <p className="soft">And {formatNumber(total - MAX_SHOWN)} more</p>}
    </details>
  );
}
