import { type FacetsResponse, MemoryError, type MemoryScope } from '@memoryd/client';
import { type TargetedEvent, useCallback, useRef, useState } from 'preact/compat';
import { useDebouncedInput } from '../debounced-input.ts';
import { focusOnMount } from '../focus.ts';
import { formatNumber } from '../format.ts';
import { Failure } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddressInScope, getScope, goTo, useRoute } from '../route.ts';
import { type Memories, useService } from '../service.tsx';

/** Maximum number of users and of agents in the list. Others are found by the first letters of their names. */
const MAX_SHOWN = 20;
const TYPING_PAUSE_MS = 200;
const PICKER_ID = 'scope';

/** Selects the user and agent whose memories the page shows. The address stores the selection. */
export function ScopePicker() {
  const { params } = useRoute();
  const { hasKey, scopeError } = useService();
  const [isOpen, setIsOpen] = useState(false);
  const isBound = useIsBoundKey(hasKey);
  const scope = scopeError === undefined ? getScope(params) : undefined;
  if (isBound !== false) return null;
  const names = [scope?.userId, scope?.agentId].filter((name) => name !== undefined);
  return (
    <div className="scope">
      <button
        type="button"
        className={scope ? 'scope-button chosen' : 'scope-button'}
        aria-label={`Scope: ${names.join(', ') || 'all users'}${scope?.shared ? ', and shared' : ''}`}
        popovertarget={PICKER_ID}
      >
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
          <path d="M8 2.5a2.7 2.7 0 1 1 0 5.4a2.7 2.7 0 0 1 0-5.4zM2.8 13.5c.6-3 2.7-4.2 5.2-4.2s4.6 1.2 5.2 4.2" />
        </svg>
        <span className="scope-name">{names.join(' · ') || 'All users'}</span>
      </button>
      <div
        id={PICKER_ID}
        className="scope-list"
        popover="auto"
        onToggle={(event: TargetedEvent<HTMLDivElement, ToggleEvent>) => setIsOpen(event.newState === 'open')}
      >
        {isOpen && <ScopeList />}
      </div>
    </div>
  );
}

/** Returns whether the API key is bound to a user or agent; undefined until that is known. Such a key has one scope. */
function useIsBoundKey(hasKey: boolean): boolean | undefined {
  const { everything } = useService();
  const load = useCallback(
    (_memory: Memories, signal: AbortSignal) =>
      everything.users({ limit: 1 }, { signal }).then(
        () => false,
        (error: unknown) => {
          if (error instanceof MemoryError && error.code === 'FORBIDDEN') return true;
          throw error;
        },
      ),
    [everything],
  );
  const { value } = useResource(hasKey ? load : undefined);
  return hasKey ? value : false;
}

function ScopeList() {
  const { everything } = useService();
  const { view, params } = useRoute();
  const scope = getScope(params);
  const [prefix, setPrefix] = useState('');
  const [text, type, commitNow] = useDebouncedInput(prefix, setPrefix, TYPING_PAUSE_MS);
  const list = useRef<HTMLDivElement>(null);
  const loadFacets = useCallback(
    async (_memory: Memories, signal: AbortSignal): Promise<[FacetsResponse, FacetsResponse]> => {
      const page = { limit: MAX_SHOWN, ...(prefix !== '' && { prefix }) };
      return Promise.all([
        everything.facets({ ...page, field: 'user_id' }, { signal }),
        everything.facets({ ...page, field: 'agent_id' }, { signal }),
      ]);
    },
    [everything, prefix],
  );
  const { value, error, reload } = useResource(loadFacets);
  const [users, agents] = value ?? [];
  const typed = text.trim();
  const getChoiceAddress = (field: 'userId' | 'agentId', name: string | undefined) => {
    const chosen: MemoryScope = { ...scope };
    if (name === undefined) delete chosen[field];
    else chosen[field] = name;
    const others = new URLSearchParams(params);
    // The open memory may belong to another user.
    others.delete('open');
    return getAddressInScope(chosen.userId || chosen.agentId ? chosen : undefined, view, others);
  };
  const moveFocus = (event: TargetedEvent<HTMLDivElement, KeyboardEvent>) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    const step = event.key === 'ArrowDown' ? 1 : -1;
    event.preventDefault();
    const stops = [...(list.current?.querySelectorAll<HTMLElement>('input[type=text], a') ?? [])];
    const at = stops.indexOf(document.activeElement as HTMLElement);
    stops[Math.max(0, Math.min(stops.length - 1, at + step))]?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the links of the list
    <div ref={list} onKeyDown={moveFocus}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === '') return;
          commitNow();
          goTo(getChoiceAddress('userId', typed));
        }}
      >
        <input
          type="text"
          autoComplete="off"
          ref={focusOnMount}
          aria-label="User or agent"
          placeholder="First letters of a user or agent"
          value={text}
          onChange={(event) => type(event.currentTarget.value)}
        />
      </form>
      <Failure error={error} onRetry={reload} />
      <Choices
        title="Users"
        all="All users"
        chosen={scope?.userId}
        found={users}
        getScopeAddress={(name) => getChoiceAddress('userId', name)}
        typed={typed}
      />
      {((agents?.values.some(({ value: name }) => name !== '') ?? false) || scope?.agentId !== undefined) && (
        <Choices
          title="Agents"
          all="All agents"
          chosen={scope?.agentId}
          found={agents}
          getScopeAddress={(name) => getChoiceAddress('agentId', name)}
        />
      )}
      {scope && (
        <label className="inline">
          <input
            type="checkbox"
            checked={scope.shared ?? false}
            onChange={(event) =>
              goTo(getAddressInScope({ ...scope, shared: event.currentTarget.checked }, view, params))
            }
          />
          Include shared
        </label>
      )}
    </div>
  );
}

interface ChoicesProps {
  title: string;
  /** Label of the choice of no user or agent. */
  all: string;
  chosen: string | undefined;
  found: FacetsResponse | undefined;
  getScopeAddress: (name: string | undefined) => string;
  /** The typed name, which may be chosen even if no memory has it. */
  typed?: string;
}

function Choices({ title, all, chosen, found, getScopeAddress, typed = '' }: ChoicesProps) {
  const values = found?.values.filter(({ value }) => value !== '') ?? [];
  const others = (found?.total ?? 0) - (found?.values.length ?? 0);
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {typed === '' && (
          <li>
            <a href={getScopeAddress(undefined)} aria-current={chosen === undefined ? 'true' : undefined}>
              {all}
            </a>
          </li>
        )}
        {values.map(({ value, count }) => (
          <li key={value}>
            <a href={getScopeAddress(value)} aria-current={value === chosen ? 'true' : undefined}>
              <span className="scope-value">{value}</span>
              <span className="soft">{formatNumber(count)}</span>
            </a>
          </li>
        ))}
        {typed !== '' && !values.some(({ value }) => value === typed) && (
          <li>
            <a href={getScopeAddress(typed)}>
              <span className="scope-value">Only “{typed}”</span>
            </a>
          </li>
        )}
      </ul>
      {others > 0 && <p className="soft note">{formatNumber(others)} more. Type the first letters.</p>}
      {found?.counted_count !== undefined && (
        <p className="soft note">Counted: the newest {formatNumber(found.counted_count)} memories.</p>
      )}
    </section>
  );
}
