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

/** An error message with an optional retry button; nothing without an error. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (error === undefined) return null;
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

interface SkeletonProps {
  what: string;
  /** Number of rows. */
  rows?: number;
}

/** Shown in place of a list that is loading: rows without text. */
export function Skeleton({ what, rows = 8 }: SkeletonProps) {
  return (
    <div className="skeleton">
      <p className="hidden" role="status">
        Loading {what}…
      </p>
      {Array.from({ length: rows }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <i key={i} />
      ))}
    </div>
  );
}

/** States that a list has changed in the service since it was loaded, and loads it again on request. */
export function Outdated({ onReload }: { onReload: () => void }) {
  return (
    <>
      {' · '}
      <button type="button" className="quiet" onClick={onReload}>
        Changed since it was loaded: load again
      </button>
    </>
  );
}
