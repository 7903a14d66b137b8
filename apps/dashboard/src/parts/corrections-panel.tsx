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

interface Decision {
  /** The state that the service has returned last. */
  known: State;
  /** The state after the requests under way. */
  wanted: State;
  error: unknown;
  /** Ends after the last request. A pair is decided again only after its earlier request. */
  sent: Promise<void>;
}

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
  const [decisions] = useState(() => new Map<string, Decision>());
  const [, render] = useState({});
  const pages = usePages(load, decisions.size === 0 ? isConsolidation : undefined);
  const { total, isLoaded, error } = pages;
  const getDecision = (id: string): Decision =>
    decisions.get(id) ?? { known: state, wanted: state, error: undefined, sent: Promise.resolve() };
  const decide = (id: string, accept: boolean) => {
    const decision = getDecision(id);
    const wanted = accept ? 'accepted' : 'declined';
    if (decision.wanted === wanted) return;
    const send = async () => {
      decision.error = undefined;
      try {
        decision.known = (await memory.decideCorrection(id, { accept })).state;
        onDecided();
      } catch (failure) {
        handleAuthError(failure);
        decision.error = failure;
      }
      if (decision.sent === sent) decision.wanted = decision.known;
      render({});
    };
    const sent = decision.sent.then(send);
    decisions.set(id, Object.assign(decision, { wanted, sent }));
    render({});
  };
  /** The pairs that were accepted with keys, the last one last. */
  const accepted = useRef<string[]>([]);
  const decideByKey = (id: string, accept: boolean) => {
    decide(id, accept);
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
      const isAccepted = (one: string) => getDecision(one).wanted === 'accepted';
      const last = isAccepted(id) ? id : accepted.current.findLast(isAccepted);
      if (last !== undefined) decide(last, false);
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
            decision={getDecision(correction.id)}
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
  decision: Decision;
  decide: (accept: boolean) => void;
}

function Pair({ correction, decision, decide }: PairProps) {
  const { id, reason, earlier, later } = correction;
  const { known: state, wanted, error } = decision;
  const isBusy = wanted !== state;
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
