import { type Correction, MemoryError } from '@memoryd/client';
import { useMemo, useRef, useState } from 'preact/compat';
import { isConsolidation } from '../events.ts';
import { formatCount } from '../format.ts';
import { useKeys } from '../keys.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { getAddress, goTo } from '../route.ts';
import { focusRow } from '../row-keys.ts';
import { useService } from '../service.tsx';
import { DateTime, MemoryLink, OwnerLinks } from './labels.tsx';
import { Failure, Nothing, Notice } from './notice.tsx';
import { PagedList } from './paged-list.tsx';
import { TextDiff } from './text-diff.tsx';
import './corrections-panel.css';

const PAGE_CORRECTIONS = 100;
const PAIR_PX = 200;

const REASONS: Record<Correction['reason'], string> = {
  change: 'Says that something changed',
  number: 'Another number',
  date: 'Another day',
  name: 'Another name',
  negation: 'Was denied before',
};

type State = Correction['state'];
const STATES: Readonly<Record<State, string>> = { pending: 'To decide', accepted: 'Accepted', declined: 'Declined' };

interface CorrectionsPanelProps {
  params: URLSearchParams;
  /** Called after a decision. */
  onDecided: () => void;
}

/** Lists the pairs that consolidation suggests as corrections. Accepts, declines and undoes with buttons or keys. */
export function CorrectionsPanel({ params, onDecided }: CorrectionsPanelProps) {
  const { memory, handleAuthError } = useService();
  const state = (Object.keys(STATES) as State[]).find((one) => one === params.get('state')) ?? 'pending';
  const load = useMemo(
    (): LoadPage<Correction> => async (memory, place, signal) => {
      const page = { state, limit: PAGE_CORRECTIONS, ...place };
      const { corrections, total, next_cursor } = await memory.corrections(page, { signal });
      return { items: corrections, total, next: next_cursor };
    },
    [state],
  );
  /** Decisions made here. A decided pair stays in its place, so that the decision can be undone. */
  const [decided, setDecided] = useState<ReadonlyMap<string, State>>(new Map());
  const pages = usePages(load, decided.size === 0 ? isConsolidation : undefined);
  const { total, isLoaded, error } = pages;
  const [busy, setBusy] = useState<ReadonlySet<string>>(new Set());
  const [failed, setFailed] = useState<{ id: string; error: unknown }>();
  const getState = (id: string): State => decided.get(id) ?? state;
  const decide = async (id: string, accept: boolean) => {
    if (busy.has(id) || getState(id) === (accept ? 'accepted' : 'declined')) return;
    setBusy((before) => new Set(before).add(id));
    setFailed(undefined);
    try {
      const { state: now } = await memory.decideCorrection(id, { accept });
      setDecided((before) => new Map(before).set(id, now));
      onDecided();
    } catch (failure) {
      handleAuthError(failure);
      setFailed({ id, error: failure });
    }
    setBusy((before) => new Set([...before].filter((one) => one !== id)));
  };
  /** The pairs that were accepted with keys, the last one last. */
  const accepted = useRef<string[]>([]);
  const decideByKey = (id: string, accept: boolean) => {
    void decide(id, accept);
    if (accept) accepted.current.push(id);
    // The next pair is decided next.
    const list = document.activeElement?.closest('.list');
    if (list) focusRow(list, 1);
  };
  /** Acts on the pair that has the focus. */
  const withPair = (act: (id: string) => void) => () => {
    const id = document.activeElement?.closest<HTMLElement>('[data-row]')?.dataset.row;
    if (id !== undefined) act(id);
  };
  useKeys({
    a: withPair((id) => decideByKey(id, true)),
    d: withPair((id) => decideByKey(id, false)),
    u: withPair((id) => {
      const isAccepted = (one: string) => getState(one) === 'accepted' && !busy.has(one);
      const last = isAccepted(id) ? id : accepted.current.findLast(isAccepted);
      if (last !== undefined) void decide(last, false);
    }),
  });
  if (error instanceof MemoryError && error.code === 'FORBIDDEN') {
    return (
      <Notice kind="plain">
        Corrections need an API key with the scope <code>write</code>.
      </Notice>
    );
  }
  return (
    <section className="corrections" aria-label="Corrections">
      <div className="actions">
        <fieldset className="kinds">
          <legend className="hidden">State</legend>
          {(Object.keys(STATES) as State[]).map((one) => (
            <button key={one} type="button" aria-pressed={one === state} onClick={() => showState(one)}>
              {STATES[one]}
            </button>
          ))}
        </fieldset>
        <p className="soft note">
          Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> accept, <kbd>d</kbd> decline, <kbd>u</kbd> undo
        </p>
      </div>
      {state === 'pending' && isLoaded && total > 0 && (
        <p className="soft">
          {formatCount(total, 'pair')} of which the later memory seems to correct the earlier one. Nothing changes until
          you accept.
        </p>
      )}
      <PagedList
        key={state}
        label="Corrections"
        what="corrections"
        empty={
          <Nothing title={state === 'pending' ? 'Nothing to decide' : `No ${STATES[state].toLowerCase()} corrections`}>
            <p>Consolidation suggests a pair when a later memory seems to correct an earlier one.</p>
          </Nothing>
        }
        pages={pages}
        getKey={({ id }) => id}
        estimatePx={PAIR_PX}
      >
        {(correction) => (
          <Pair
            correction={correction}
            state={getState(correction.id)}
            isBusy={busy.has(correction.id)}
            error={failed?.id === correction.id ? failed.error : undefined}
            decide={(accept) => decide(correction.id, accept)}
          />
        )}
      </PagedList>
    </section>
  );
}

function showState(state: State): void {
  goTo(getAddress('consolidation', { tab: 'corrections', ...(state !== 'pending' && { state }) }), { replace: true });
}

interface PairProps {
  correction: Correction;
  state: State;
  isBusy: boolean;
  error: unknown;
  decide: (accept: boolean) => void;
}

function Pair({ correction, state, isBusy, error, decide }: PairProps) {
  const { id, reason, earlier, later } = correction;
  return (
    <article className="pair" data-row={id} tabIndex={-1} aria-label={REASONS[reason]}>
      <p className="meta">
        <b>{REASONS[reason]}</b>
        <OwnerLinks owner={correction} />
        {state !== 'pending' && (
          <span className={`pair-state pair-${state}`} role="status">
            {STATES[state]}
          </span>
        )}
      </p>
      <div className="pair-texts">
        {(['before', 'after'] as const).map((side) => {
          const memory = side === 'before' ? earlier : later;
          return (
            <div key={side}>
              <p className="meta">
                {side === 'before' ? 'Earlier' : 'Later'} <DateTime at={memory.created_at} />
                <MemoryLink id={memory.id} />
              </p>
              <TextDiff before={earlier.content} after={later.content} side={side} />
            </div>
          );
        })}
      </div>
      <Failure error={error} />
      <div className="actions">
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
    </article>
  );
}
