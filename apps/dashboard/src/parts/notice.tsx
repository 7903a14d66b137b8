import { MemoryError } from '@memoryd/client';
import type { ReactNode } from 'preact/compat';

/** A message that screen readers announce. */
export function Notice({ kind, children }: { kind: 'plain' | 'good' | 'warning' | 'error'; children: ReactNode }) {
  return (
    <div className={`notice notice-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** An error message with an optional retry button. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const known = error instanceof MemoryError ? error : undefined;
  // Omits details that repeat the message.
  const details = known?.details?.filter(({ message }) => message !== known.message);
  return (
    <Notice kind="error">
      <p>{known?.message ?? String(error)}</p>
      {details?.map(({ path, message }) => (
        <p key={path + message}>{message}</p>
      ))}
      {known?.requestId !== undefined && (
        <p className="soft">
          {known.code}, request id <code>{known.requestId}</code>
        </p>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </Notice>
  );
}

/** Shown in place of an empty list. */
export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="nothing">
      <p className="nothing-title">{title}</p>
      {children}
    </div>
  );
}

/** Shown in place of content that is loading. */
export function Loading({ what }: { what: string }) {
  return (
    <p className="loading" role="status">
      Loading {what}…
    </p>
  );
}
