import {
  type ReactNode,
  type TargetedEvent,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'preact/compat';
import { parseTags } from '../draft.ts';
import { changesLists } from '../events.ts';
import { parseListFilter } from '../filter.ts';
import { formatCounted, formatMemories } from '../format.ts';
import { shownUntil, useSelection } from '../memories/selection.tsx';
import { Failure } from '../parts/notice.tsx';
import { TagInput } from '../parts/tag-input.tsx';
import { useResource } from '../resource.ts';
import { type Memories, useService } from '../service.tsx';
import { useStable } from '../stable.ts';
import { ExportChoices } from './export-choices.tsx';
import { forgetMany } from './forget-many.ts';
import { type FrozenSelection, fetchAll, freezeSelection, getListUntil } from './frozen-selection.ts';
import { changeMany, type ManyChange } from './many-changes.ts';
import './bulk.css';

type Mode = 'tag' | 'untag' | 'importance' | 'export';

const MODES: readonly { mode: Mode; label: string }[] = [
  { mode: 'tag', label: 'Tag…' },
  { mode: 'untag', label: 'Untag…' },
  { mode: 'importance', label: 'Importance…' },
  { mode: 'export', label: 'Export…' },
];

/** The bar with the actions on all selected memories. An action that needs a value replaces the buttons by a form. */
export function BulkActions({ params }: { params: URLSearchParams }) {
  const { memory, handleAuthError } = useService();
  const { selected, count, hasMore, action, selectAll, clear, endAction } = useSelection();
  const filter = useStable(parseListFilter(params));
  // Without the memories that the view does not show yet.
  const shown = useStable(getListUntil(filter, shownUntil.use()));
  const [mode, setMode] = useState<Mode>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const bar = useRef<HTMLElement>(null);
  /** The element that had the focus before a form was opened. */
  const opener = useRef<Element | null>(null);
  /** The element of the view that had the focus before the bar. */
  const origin = useRef<HTMLElement>(undefined);

  const load = useCallback((api: Memories, signal: AbortSignal) => fetchAll(api, shown, signal), [shown]);
  const { value: all } = useResource(load, changesLists);

  const open = (next: Mode) => {
    opener.current = document.activeElement;
    setError(undefined);
    setMode(next);
  };
  /** Returns the focus to what had it before: a button of the bar, or the list. */
  const close = () => {
    const before = opener.current;
    const label = MODES.find((one) => one.mode === mode)?.label;
    setMode(undefined);
    if (!bar.current?.contains(document.activeElement)) return;
    setTimeout(() => {
      const buttons = [...(bar.current?.querySelectorAll('button') ?? [])];
      const button = buttons.find((one) => one.textContent === label);
      (before instanceof HTMLElement && before.isConnected ? before : button)?.focus();
    });
  };

  /** Acts on the memories that are selected now. */
  const act = async (run: (frozen: FrozenSelection) => void) => {
    if (isBusy) return;
    setIsBusy(true);
    setError(undefined);
    try {
      run(await freezeSelection(memory, selected, filter));
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
    }
    setIsBusy(false);
  };
  const change = (made: ManyChange) => {
    // After a failure, the form keeps what was typed.
    void act((frozen) => {
      close();
      changeMany(memory, frozen, made);
    });
  };
  /** Returns the focus from the bar to the view whose memories were selected, at once: later, it may be elsewhere. */
  const leave = () => {
    if (!bar.current?.contains(document.activeElement)) return;
    const { current: before } = origin;
    (before?.isConnected ? before : document.querySelector('main'))?.focus({ preventScroll: true });
  };
  const forget = () => {
    leave();
    void act((frozen) => {
      forgetMany(memory, frozen);
      clear();
    });
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: acts once for each key
  useLayoutEffect(() => {
    if (action === undefined) return;
    endAction();
    if (action === 'tag') open('tag');
    else forget();
  }, [action]);

  const clearAndLeave = () => {
    leave();
    clear();
  };
  const label = formatMemories(count, hasMore);
  return (
    <section
      ref={bar}
      className="bulk-bar"
      aria-label="Selected memories"
      onFocusCapture={({ relatedTarget: from }) => {
        if (from instanceof HTMLElement && from.closest('main') && !bar.current?.contains(from)) origin.current = from;
      }}
    >
      <Failure error={error} />
      {mode === undefined ? (
        <>
          <p className="bulk-count">
            <b>{formatCounted(count, hasMore)}</b> selected
            {all && ` of ${formatCounted(Math.max(all.total, count), all.hasMore)}`}
          </p>
          <Toolbar label="Actions on selected memories" onEscape={clearAndLeave}>
            {selected.kind === 'ids' && all && (all.hasMore || all.total > count) && (
              <button type="button" onClick={() => selectAll(all)}>
                Select all
              </button>
            )}
            {MODES.map((one) => (
              <button key={one.mode} type="button" onClick={() => open(one.mode)}>
                {one.label}
              </button>
            ))}
            <button type="button" className="danger" disabled={isBusy} onClick={forget}>
              Forget
            </button>
            <button type="button" onClick={clearAndLeave}>
              Clear
            </button>
          </Toolbar>
        </>
      ) : mode === 'export' ? (
        <Form onClose={close} label={`Export ${label}`}>
          <p>Export {label} as</p>
          <ExportChoices selected={selected} filter={filter} onChosen={close} />
        </Form>
      ) : mode === 'importance' ? (
        <ImportanceForm memories={label} onChange={change} onClose={close} />
      ) : (
        <TagForm key={mode} isRemoving={mode === 'untag'} memories={label} onChange={change} onClose={close} />
      )}
    </section>
  );
}

/** Buttons that are one tab stop. The arrow keys, Home and End move between them. */
function Toolbar({ label, onEscape, children }: { label: string; onEscape: () => void; children: ReactNode }) {
  const toolbar = useRef<HTMLDivElement>(null);
  const getButtons = () => [...(toolbar.current?.querySelectorAll('button') ?? [])];
  const setTabStop = (stop: HTMLButtonElement | undefined) => {
    for (const button of getButtons()) button.tabIndex = button === stop ? 0 : -1;
  };
  // The buttons may be others than before.
  useEffect(() => {
    const buttons = getButtons();
    setTabStop(buttons.find((button) => button === document.activeElement || button.tabIndex === 0) ?? buttons[0]);
  });
  const press = (event: TargetedEvent<HTMLDivElement, KeyboardEvent>) => {
    const buttons = getButtons();
    const index = buttons.indexOf(event.target as HTMLButtonElement);
    const { length } = buttons;
    const steps: Record<string, number> = {
      ArrowRight: (index + 1) % length,
      ArrowLeft: (index + length - 1) % length,
      Home: 0,
      End: length - 1,
    };
    if (event.key === 'Escape') onEscape();
    else if (Object.hasOwn(steps, event.key)) buttons[steps[event.key] as number]?.focus();
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={toolbar}
      className="bulk-buttons"
      role="toolbar"
      aria-label={label}
      onKeyDown={press}
      onFocusCapture={(event) => setTabStop(event.target as HTMLButtonElement)}
    >
      {children}
    </div>
  );
}

const focusFirstOnMount = (form: HTMLFormElement | null) => form?.querySelector<HTMLElement>('input, button')?.focus();

interface FormProps {
  label: string;
  onSubmit?: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** A form in place of the buttons. Its first control gets the focus. Escape and Cancel close it. */
function Form({ label, onSubmit, onClose, children }: FormProps) {
  return (
    <form
      ref={focusFirstOnMount}
      className="bulk-form"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit?.();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onClose();
      }}
    >
      {children}
      <button type="button" onClick={onClose}>
        Cancel
      </button>
    </form>
  );
}

interface ChangeFormProps {
  /** The selected memories, as in `3 memories`. */
  memories: string;
  onChange: (change: ManyChange) => void;
  onClose: () => void;
}

function TagForm({ isRemoving, memories, onChange, onClose }: ChangeFormProps & { isRemoving: boolean }) {
  const id = useId();
  const [value, setValue] = useState('');
  const label = isRemoving ? `Remove tags from ${memories}` : `Tag ${memories}`;
  const submit = () => {
    const tags = [...new Set(parseTags(value))];
    if (tags.length === 0) return;
    onChange(
      isRemoving
        ? { changes: { remove_tags: tags }, doing: 'Untagging', done: 'Untagged' }
        : { changes: { add_tags: tags }, doing: 'Tagging', done: 'Tagged' },
    );
  };
  return (
    <Form label={label} onSubmit={submit} onClose={onClose}>
      <label htmlFor={id}>{label}</label>
      <TagInput id={id} value={value} onChange={setValue} />
      <button type="submit" className="primary">
        {isRemoving ? 'Remove' : 'Add'}
      </button>
    </Form>
  );
}

function ImportanceForm({ memories, onChange, onClose }: ChangeFormProps) {
  const id = useId();
  const [value, setValue] = useState('');
  const label = `Importance of ${memories}, from 0 to 1`;
  const submit = () =>
    onChange({ changes: { importance: Number(value) }, doing: 'Changing', done: 'Changed the importance of' });
  return (
    <Form label={label} onSubmit={submit} onClose={onClose}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="number"
        min={0}
        max={1}
        step="any"
        required
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
      <button type="submit" className="primary">
        Set
      </button>
    </Form>
  );
}
