import type { ConsolidateResponse, ConsolidationPlan } from '@memoryd/client';
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react';
import { count } from '../format.ts';
import { useLoaded } from '../loading.ts';
import { type Memories, useService } from '../service.tsx';
import { ChangeLine, Sources } from './change-row.tsx';
import { MemoryLink } from './labels.tsx';
import { Failure, Nothing, Notice, Waiting } from './notice.tsx';

interface PlanPanelProps {
  /** Told the run that was made, by whoever still waits for it. */
  onDone: (runId: string) => void;
  onCancel: () => void;
}

/** What a run would do now, and the button that lets it. */
export function PlanPanel({ onDone, onCancel }: PlanPanelProps) {
  const { memory, noteRefusal } = useService();
  const ask = useCallback(
    (service: Memories, signal: AbortSignal) => service.consolidate({ dry_run: true }, { signal }),
    [],
  );
  const { value, error, loading, reload } = useLoaded(ask);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>();
  const [told, setTold] = useState<string>();
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  const run = async () => {
    setBusy(true);
    setFailed(undefined);
    try {
      const answer = await memory.consolidate();
      // Who went on to something else is not brought back.
      if (!isShown.current) return;
      if (answer.id !== undefined) return onDone(answer.id);
      setTold(getTold(answer));
      reload();
    } catch (refused) {
      noteRefusal(refused);
      setFailed(refused);
    }
    setBusy(false);
  };
  return (
    <section className="panel" aria-labelledby="plan-title" aria-busy={loading}>
      <h2 id="plan-title">What sleep would do now</h2>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {failed !== undefined && <Failure error={failed} />}
      {told !== undefined && <Notice kind="plain">{told}</Notice>}
      {!value && loading && <Waiting what="the plan" />}
      {value?.plan && <Plan plan={value.plan} />}
      <div className="actions">
        <button type="button" className="primary" disabled={busy || !value} onClick={run}>
          {busy ? 'Sleeping…' : 'Sleep now'}
        </button>
        <button type="button" onClick={onCancel}>
          Not now
        </button>
      </div>
    </section>
  );
}

function getTold({ self_check: check }: ConsolidateResponse): string {
  return check === 'failed' ? 'The run took itself back.' : 'There was nothing to do.';
}

/** Memories of each kind that are shown. */
const SHOWN = 20;

function Plan({ plan: { promote, merge, distil, evict } }: { plan: ConsolidationPlan }) {
  const { shownFor } = useService();
  if (promote.total + merge.total + distil.total + evict.total === 0) {
    return <Nothing title="Nothing: all is promoted" />;
  }
  return (
    <>
      <Part title="Distil" total={distil.total}>
        {distil.memories.slice(0, SHOWN).map(({ content, derived_from, refreshes }) => (
          <li key={derived_from.join()}>
            <ChangeLine
              sign="+"
              says={refreshes === undefined ? 'a new semantic memory' : 'a semantic memory made anew'}
              // A plan does not say whose text it is.
              {...(shownFor === '' && { text: content })}
            >
              <Sources ids={derived_from} />
            </ChangeLine>
          </li>
        ))}
      </Part>
      <Part title="Merge" total={merge.total}>
        {merge.memories.slice(0, SHOWN).map(({ id, merged_into }) => (
          <li key={id}>
            <ChangeLine sign="−" says="leaves recall for its duplicate" id={id}>
              <span>
                duplicate <MemoryLink id={merged_into} />
              </span>
            </ChangeLine>
          </li>
        ))}
      </Part>
      <Part title="Evict" total={evict.total}>
        {evict.memories.slice(0, SHOWN).map(({ id, reason }) => (
          <li key={id}>
            <ChangeLine sign="−" says={reason === 'expired' ? 'it has expired' : 'its tier is full'} id={id} />
          </li>
        ))}
      </Part>
      <Part title="Promote" total={promote.total}>
        {promote.memories.slice(0, SHOWN).map(({ id }) => (
          <li key={id}>
            <ChangeLine sign="~" says="working → episodic" id={id} />
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
        {title} <b>{count(total)}</b>
      </summary>
      <ul className="plain">{children}</ul>
      {total > SHOWN && <p className="soft">and {count(total - SHOWN)} more</p>}
    </details>
  );
}
