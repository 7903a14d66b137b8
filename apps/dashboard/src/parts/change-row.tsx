import { type ConsolidationChange, MemoryError } from '@memoryd/client';
import { type ReactNode, useCallback } from 'react';
import { useLoaded } from '../loading.ts';
import { type Memories, useService } from '../service.tsx';
import { MemoryLink } from './labels.tsx';

/** What a change does, in words, and whether something comes, goes or only moves. */
const KINDS: Readonly<Record<ConsolidationChange['kind'], { says: string; sign: '+' | '−' | '~' }>> = {
  promoted: { says: 'promoted: working → episodic', sign: '~' },
  merged: { says: 'merged: left recall for its duplicate', sign: '−' },
  moved: { says: 'moved: followed its duplicate', sign: '~' },
  gained: { says: 'gained from its duplicates', sign: '~' },
  distilled: { says: 'distilled: a new semantic memory', sign: '+' },
  refreshed: { says: 'refreshed: distilled anew', sign: '~' },
  corrected: { says: 'corrected: ranks below what corrects it', sign: '~' },
  evicted: { says: 'evicted: left recall for the archive', sign: '−' },
};

/** One thing that a run did, as a line of a diff. */
export function ChangeRow({ change }: { change: ConsolidationChange }) {
  const { says, sign } = KINDS[change.kind];
  return (
    <ChangeLine
      sign={sign}
      says={change.reason === 'maximum' ? `${says}: its tier was full` : says}
      id={change.memory_id}
    >
      {change.before && <Gained id={change.memory_id} before={change.before} />}
      <ToOther says="duplicate" id={change.merged_into} />
      <ToOther says="corrected by" id={change.superseded_by} />
      {change.derived_from && <Sources ids={change.derived_from} />}
    </ChangeLine>
  );
}

interface ChangeLineProps {
  sign: '+' | '−' | '~';
  says: string;
  /** The memory that is changed; undefined for one that is not made yet. */
  id?: string;
  /** Its text, where it is known already. */
  text?: string;
  children?: ReactNode;
}

/** A line of a diff: what happens to one memory, and its text. */
export function ChangeLine({ sign, says, id, text, children }: ChangeLineProps) {
  return (
    <article className={`change-line change-${{ '+': 'added', '−': 'removed', '~': 'moved' }[sign]}`}>
      <span className="sign" aria-hidden="true">
        {sign}
      </span>
      <div>
        <p className="meta">
          <span>{says}</span>
          {id !== undefined && <MemoryLink id={id} />}
        </p>
        {text === undefined ? id !== undefined && <TextOf id={id} /> : <Text text={text} />}
        {children && <div className="meta">{children}</div>}
      </div>
    </article>
  );
}

function Text({ text }: { text: string }) {
  return (
    <p className="memory-text clamped" dir="auto">
      {text}
    </p>
  );
}

/** The present text of a memory, asked for when its line comes into sight. */
function TextOf({ id }: { id: string }) {
  const ask = useCallback((memory: Memories, signal: AbortSignal) => memory.memory(id, { signal }), [id]);
  const { value, error } = useLoaded(ask);
  const { shownFor } = useService();
  if (value) return <Text text={value.content} />;
  return <p className="soft">{error === undefined ? '…' : withoutText(error, shownFor !== '')}</p>;
}

function withoutText(error: unknown, isScoped: boolean): string {
  if (!(error instanceof MemoryError)) return String(error);
  if (error.code === 'NOT_FOUND' && isScoped) return 'of another user or agent, forgotten, expired or archived';
  if (error.code === 'NOT_FOUND') return 'not to be read any more: forgotten, expired or archived';
  return `could not be read just now: ${error.message}`;
}

function ToOther({ says, id }: { says: string; id: string | null | undefined }) {
  if (id === undefined) return null;
  return (
    <span>
      {says} {id === null ? 'since forgotten' : <MemoryLink id={id} />}
    </span>
  );
}

/** Sources that are named. */
const NAMED = 8;

export function Sources({ ids }: { ids: readonly string[] }) {
  return (
    <span className="ids">
      from {ids.length}:
      {ids.slice(0, NAMED).map((id) => (
        <MemoryLink key={id} id={id} />
      ))}
      {ids.length > NAMED && '…'}
    </span>
  );
}

function Gained({ id, before }: { id: string; before: NonNullable<ConsolidationChange['before']> }) {
  const ask = useCallback((memory: Memories, signal: AbortSignal) => memory.memory(id, { signal }), [id]);
  const { value } = useLoaded(ask);
  if (!value) return null;
  const gained = value.tags.filter((tag) => !before.tags.includes(tag));
  return (
    <>
      {gained.length > 0 && (
        <span>
          tags <ins>{gained.join(', ')}</ins>
        </span>
      )}
      {value.importance !== before.importance && (
        <span>
          importance <del>{before.importance}</del> <ins>{value.importance}</ins>
        </span>
      )}
    </>
  );
}
