import { useEffect, useRef, useState } from 'preact/compat';
import { removingButton } from '../focus.ts';
import { MemoryLink } from '../parts/labels.tsx';
import { useService } from '../service.tsx';
import { isTransient, useAnswerListener } from '../watch.tsx';
import { getMessage, showInterruptedChanges } from './many-changes.ts';
import { dismissForget, type PendingForget, retryForget, useForgets } from './pending-forgets.ts';
import { removeToast, type Toast, toasts } from './toasts.ts';
import './forget-toasts.css';

/** Messages about memories that are being changed or forgotten, with Undo while that is possible. On every view. */
export function ForgetToasts() {
  const forgets = useForgets();
  const shown = toasts.use();
  const { everything } = useService();
  useAnswerListener(() => {
    // Once the service has answered, the person is signed in.
    showInterruptedChanges(everything);
    for (const { onAnswer } of shown) onAnswer?.();
  });
  return (
    <section className="toasts" aria-label="Messages" aria-live="polite">
      {shown.map((toast) => (
        <ToastLine key={toast.key} toast={toast} />
      ))}
      {forgets.map((forget) => (
        <ForgetToast key={forget.key} forget={forget} />
      ))}
    </section>
  );
}

function ToastLine({ toast: { key, text, isError, actions, shownMs } }: { toast: Toast }) {
  const line = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another text is shown for the whole time
  useEffect(() => {
    if (shownMs === undefined) return;
    const timer = setInterval(() => {
      if (!line.current?.matches(':hover, :focus-within')) removeToast(key);
    }, shownMs);
    return () => clearInterval(timer);
  }, [key, text, shownMs]);
  return (
    <div ref={line} className={isError ? 'toast toast-failed' : 'toast'}>
      <p role={isError ? 'alert' : undefined}>{text}</p>
      {actions.map(({ label, act }) => (
        <button key={label} type="button" onClick={removingButton(act)}>
          {label}
        </button>
      ))}
    </div>
  );
}

/** Time for which the message about a forget that succeeded is shown. */
const SENT_SHOWN_MS = 6000;

function ForgetToast({ forget }: { forget: PendingForget }) {
  const { key, ids, state, error, dueAt } = forget;
  useEffect(() => {
    if (state !== 'sent') return;
    const timer = setTimeout(() => dismissForget(key), SENT_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state, key]);
  return (
    <div className={`toast toast-${state}`}>
      <p role={state === 'failed' ? 'alert' : undefined}>{describe(forget)}</p>
      {state === 'waiting' && <SecondsLeft dueAt={dueAt} />}
      {state === 'unsent' && ids?.length === 1 && ids.map((id) => <MemoryLink key={id} id={id} />)}
      {state === 'failed' && isTransient(error) && (
        <button type="button" onClick={removingButton(() => retryForget(key))}>
          Try again
        </button>
      )}
      {state !== 'sending' && (
        <button type="button" onClick={removingButton(() => dismissForget(key))}>
          {state === 'waiting' ? 'Undo' : 'Dismiss'}
        </button>
      )}
    </div>
  );
}

function describe({ ids, label, state, message, error, isBegun }: PendingForget): string | undefined {
  switch (state) {
    case 'waiting':
      return `Forgetting ${label}`;
    case 'sending':
      return `Forgetting ${label}…`;
    case 'sent':
      return message;
    case 'failed':
      return `Not ${ids?.length === 1 ? '' : 'all '}forgotten: ${label}. ${getMessage(error)}`;
    case 'unsent':
      return `${isBegun ? 'Perhaps not all' : 'Not'} forgotten: ${label}. The page was closed, or you signed out, before it was ${isBegun ? 'complete' : 'sent'}.`;
  }
}

/** The seconds until a forget is sent. Screen readers skip it, because it changes each second. */
function SecondsLeft({ dueAt }: { dueAt: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <span className="soft" aria-hidden="true">
      in {Math.max(0, Math.ceil((dueAt - now) / 1000))} s
    </span>
  );
}
