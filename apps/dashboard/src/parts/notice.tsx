import { MemoryError } from '@memoryd/client';
import type { ReactNode } from 'react';

/** Something to be told of, beside what is shown. */
export function Notice({ kind, children }: { kind: 'plain' | 'good' | 'warning' | 'error'; children: ReactNode }) {
  return (
    <div className={`notice notice-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** What went wrong in the words of the service, and a way to try again. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const known = error instanceof MemoryError ? error : undefined;
  // One that stands alone is the message itself.
  const details = known?.details?.filter(({ message }) => message !== known.message);
  return (
    <Notice kind="error">
      <p>{known?.message ?? String(error)}</p>
      {details?.map(({ path, message }) => (
        <p key={path + message}>{message}</p>
      ))}
      {known?.requestId !== undefined && (
        <p className="soft">
          {known.code}, request <code>{known.requestId}</code>
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

/** Said where there is nothing to show. */
export function Nothing({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="nothing">
      <p className="nothing-title">{title}</p>
      {children}
    </div>
  );
}

/** Stands where something will be. */
export function Waiting({ what }: { what: string }) {
  return (
    <p className="waiting" role="status">
      Loading {what}…
    </p>
  );
}
