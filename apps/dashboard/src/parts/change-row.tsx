import { type ConsolidationChange, MemoryError } from '@memoryd/client';
import { type ReactNode, useCallback } from 'preact/compat';
import { formatMemories } from '../format.ts';
import { useResource } from '../resource.ts';
import { type Memories, useService } from '../service.tsx';
import { MemoryLink, MemoryText } from './labels.tsx';

type Sign = '+' | '−' | '~';

/** The label of each kind of change, and a sign: the memory is added (+), removed (−) or modified (~). */
const KINDS: Readonly<Record<ConsolidationChange['kind'], { label: string; sign: Sign }>> = {
  promoted: { label: 'Promoted from working to episodic', sign: '~' },
  merged: { label: 'Merged into a duplicate', sign: '−' },
  moved: { label: 'Moved to another duplicate', sign: '~' },
  gained: { label: 'Updated from its duplicates', sign: '~' },
  distilled: { label: 'New semantic memory', sign: '+' },
  refreshed: { label: 'Semantic memory updated', sign: '~' },
  corrected: { label: 'Superseded: ranks below the newer memory', sign: '~' },
  evicted: { label: 'Evicted: moved to the archive', sign: '−' },
};

interface ChangeRowProps {
  change: ConsolidationChange;
  /** Controls of the change. */
  children?: ReactNode;
}

/** A change of a consolidation run as a line of a diff. */
export function ChangeRow({ change, children }: ChangeRowProps) {
  const { label, sign } = KINDS[change.kind];
  return (
    <ChangeLine sign={sign} label={change.reason === 'maximum' ? `${label} (tier full)` : label} id={change.memory_id}>
      {change.before && <GainedFields id={change.memory_id} before={change.before} />}
      <RelatedMemory label="Merged into" id={change.merged_into} />
      <RelatedMemory label="Superseded by" id={change.superseded_by} />
      {change.derived_from && <Sources ids={change.derived_from} />}
      {children}
    </ChangeLine>
  );
}

interface ChangeLineProps {
  sign: Sign;
  label: string;
  /** Id of the changed memory; undefined for a memory that does not exist yet. */
  id?: string;
  /** The text of a memory that does not exist yet. */
  text?: string;
  children?: ReactNode;
}

/** A line of a diff: a change and the text of its memory. */
export function ChangeLine({ sign, label, id, text, children }: ChangeLineProps) {
  return (
    <article className={`change-line change-${{ '+': 'added', '−': 'removed', '~': 'moved' }[sign]}`}>
      <span className="sign" aria-hidden="true">
        {sign}
      </span>
      <div>
        <p className="meta">{label}</p>
        {id !== undefined && <CurrentText id={id} />}
        {text !== undefined && (
          <p className="memory-text clamped" dir="auto">
            {text}
          </p>
        )}
        <div className="meta">
          {id !== undefined && (
            <span>
              Memory <MemoryLink id={id} />
            </span>
          )}
          {children}
        </div>
      </div>
    </article>
  );
}

/** The current text of a memory, loaded when the component mounts, so that a virtual list loads only visible texts. */
function CurrentText({ id }: { id: string }) {
  const load = useCallback((memory: Memories, signal: AbortSignal) => memory.memory(id, { signal }), [id]);
  const { value, error } = useResource(load);
  const { scopeKey } = useService();
  if (!value) return <p className="soft">{error === undefined ? 'Loading…' : describeError(error, scopeKey !== '')}</p>;
  return (
    <MemoryText id={id} isClamped>
      {value.content}
    </MemoryText>
  );
}

function describeError(error: unknown, isScoped: boolean): string {
  if (!(error instanceof MemoryError)) return String(error);
  if (error.code !== 'NOT_FOUND') return `Text not loaded: ${error.message}`;
  return isScoped
    ? 'Memory not visible: it belongs to another user or agent, or was forgotten, expired or archived'
    : 'Memory no longer available: it was forgotten, expired or archived';
}

function RelatedMemory({ label, id }: { label: string; id: string | null | undefined }) {
  if (id === undefined) return null;
  return (
    <span>
      {label} {id === null ? 'a memory that was forgotten' : <MemoryLink id={id} />}
    </span>
  );
}

const MAX_SHOWN_SOURCES = 8;

export function Sources({ ids }: { ids: readonly string[] }) {
  return (
    <span className="ids">
      Distilled from {formatMemories(ids.length)}:
      {ids.slice(0, MAX_SHOWN_SOURCES).map((id) => (
        <MemoryLink key={id} id={id} />
      ))}
      {ids.length > MAX_SHOWN_SOURCES && '…'}
    </span>
  );
}

function GainedFields({ id, before }: { id: string; before: NonNullable<ConsolidationChange['before']> }) {
  const load = useCallback((memory: Memories, signal: AbortSignal) => memory.memory(id, { signal }), [id]);
  const { value } = useResource(load);
  if (!value) return null;
  const newTags = value.tags.filter((tag) => !before.tags.includes(tag));
  return (
    <>
      {newTags.length > 0 && (
        <span>
          New tags <ins>{newTags.join(', ')}</ins>
        </span>
      )}
      {value.importance !== before.importance && (
        <span>
          Importance <del>{before.importance}</del> <ins>{value.importance}</ins>
        </span>
      )}
    </>
  );
}
