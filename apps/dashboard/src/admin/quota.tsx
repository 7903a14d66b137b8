import type { NamespaceQuota } from '@memoryd/client';
import { useId, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { formatCount, formatNumber, formatSize } from '../format.ts';
import { FormDialog } from '../parts/form-dialog.tsx';

const BYTES_PER_MB = 1_000_000;

interface UsageProps {
  /** The counted things, for screen readers: `Memories of anna`. */
  label: string;
  value: number;
  /** Null is the default of the service, 0 no limit. */
  limit: number | null;
  format: (value: number) => string;
}

/** A value, with a bar of its share of the limit if there is one. */
export function Usage({ label, value, limit, format }: UsageProps) {
  if (limit === null || limit === 0) return <span className="usage">{format(value)}</span>;
  const text = `${format(value)} of ${format(limit)}`;
  return (
    <span className="usage">
      {text}
      <meter aria-label={`${label}: ${text}`} min={0} max={limit} high={0.9 * limit} value={Math.min(value, limit)} />
    </span>
  );
}

export const formatBytes = (bytes: number): string =>
  bytes < 1000 ? formatCount(bytes, 'byte') : formatSize(bytes / BYTES_PER_MB);

/** Describes a quota in one phrase: `at most 1,000 memories, 5.0 MB`. */
function describeQuota({ memories, bytes }: NamespaceQuota): string {
  const describe = (limit: number | null, format: (value: number) => string, what: string) =>
    limit === null ? `default ${what}` : limit === 0 ? `no limit of ${what}` : `at most ${format(limit)}`;
  return `${describe(memories, (value) => `${formatNumber(value)} memories`, 'memories')}, ${describe(bytes, formatBytes, 'bytes')}`;
}

interface QuotaDialogProps {
  /** The user or namespace. */
  name: string;
  quota: NamespaceQuota;
  save: (quota: NamespaceQuota) => Promise<unknown>;
  onDone: (message: string) => void;
  onClose: () => void;
}

/** Edits the quota of a user or a namespace. */
export function QuotaDialog({ name, quota, save, onDone, onClose }: QuotaDialogProps) {
  const [memories, setMemories] = useState(toText(quota.memories));
  const [megabytes, setMegabytes] = useState(toText(quota.bytes === null ? null : quota.bytes / BYTES_PER_MB));
  const [memoriesId, bytesId, noteId] = [useId(), useId(), useId()];
  const action = useAction(async () => {
    const bytes = toLimit(megabytes);
    const changed = {
      memories: toLimit(memories),
      bytes: bytes === null ? null : Math.round(bytes * BYTES_PER_MB),
    };
    await save(changed);
    return `Quota of ${name}: ${describeQuota(changed)}.`;
  }, onDone);
  return (
    <FormDialog title={`Quota of ${name}`} action={action} label="Save quota" onClose={onClose}>
      <p id={noteId} className="soft">
        Leave a field empty for the default of the service. 0 is no limit. Memories that are already stored remain, even
        above the quota.
      </p>
      <label htmlFor={memoriesId}>Memories</label>
      <input
        id={memoriesId}
        type="number"
        min={0}
        step={1}
        aria-describedby={noteId}
        value={memories}
        onChange={(event) => setMemories(event.currentTarget.value)}
      />
      <label htmlFor={bytesId}>Size of the texts in MB</label>
      <input
        id={bytesId}
        type="number"
        min={0}
        step="any"
        aria-describedby={noteId}
        value={megabytes}
        onChange={(event) => setMegabytes(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

const toText = (limit: number | null): string => (limit === null ? '' : String(limit));

const toLimit = (text: string): number | null => (text.trim() === '' ? null : Number(text));
