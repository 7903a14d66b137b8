import type { HistoryResponse, Memory } from '@memoryd/client';
import { type ReactNode, useCallback, useRef, useState } from 'preact/compat';
import { focusOnMount } from '../focus.ts';
import { formatCount, formatDateTime } from '../format.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { ForgetDialog } from '../parts/forget-dialog.tsx';
import { MemoryLink, Tags, TierLabel } from '../parts/labels.tsx';
import { MemoryEditor } from '../parts/memory-editor.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { TextDiff } from '../parts/text-diff.tsx';
import { useResource } from '../resource.ts';
import { getAddress, getAddressInScope, getSessionAddress, isOwn } from '../route.ts';
import { type Memories, useService } from '../service.tsx';

/** Maximum number of texts that the history shows. */
const MAX_SHOWN_TEXTS = 100;

interface MemoryWithHistory {
  memory: Memory;
  history: HistoryResponse;
}

/** Shows a memory with its details and history; edits and forgets it. */
export function MemoryPage({ params }: { params: URLSearchParams }) {
  const id = params.get('id') ?? '';
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal): Promise<MemoryWithHistory> => {
      const [found, history] = await Promise.all([
        memory.memory(id, { signal }),
        memory.history(id, { limit: MAX_SHOWN_TEXTS }, { signal }),
      ]);
      return { memory: found, history };
    },
    [id],
  );
  const { value, error, loading, reload } = useResource(load);
  const { unsaved } = useService();
  const [mode, setMode] = useState<'viewing' | 'editing' | 'forgetting'>(() =>
    unsaved.has(id) ? 'editing' : 'viewing',
  );
  const [isSaved, setIsSaved] = useState(false);
  const [wasEditing, setWasEditing] = useState(false);
  const [forgotten, setForgotten] = useState<string>();
  const finish = (saved: boolean) => {
    setMode('viewing');
    setWasEditing(mode === 'editing');
    setIsSaved(saved);
    reload();
  };
  const exists = value !== undefined && value.memory.id === id && error === undefined && forgotten === undefined;
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('explore')}>Explore</a>
        </p>
        <h1>Memory</h1>
        <MemoryIdentity id={id} />
      </header>
      {(isSaved || forgotten !== undefined) && <Notice kind="good">{forgotten ?? 'Changes saved.'}</Notice>}
      {error !== undefined && forgotten === undefined && <Failure error={error} onRetry={reload} />}
      {!exists && loading && <Loading what="the memory" />}
      {exists && mode === 'editing' && (
        <MemoryEditor memory={value.memory} onDone={() => finish(true)} onCancel={() => finish(false)} />
      )}
      {exists && mode !== 'editing' && (
        <section className="panel memory" aria-label="Memory">
          <TierLabel tier={value.memory.tier} />
          <p className="memory-text" dir="auto">
            {value.memory.content}
          </p>
          <Tags tags={value.memory.tags} />
          {isOwn(value.memory, params) ? (
            <div className="actions">
              <button type="button" ref={wasEditing ? focusOnMount : null} onClick={() => setMode('editing')}>
                Edit
              </button>
              <button type="button" className="danger" onClick={() => setMode('forgetting')}>
                Forget…
              </button>
            </div>
          ) : (
            <p className="soft">
              To change this shared memory, <a href={getAddressInScope(undefined, 'memory', params)}>show all</a>{' '}
              memories.
            </p>
          )}
        </section>
      )}
      {exists && (
        <div className="columns">
          <Details memory={value.memory} />
          <History history={value.history} />
        </div>
      )}
      {exists && mode === 'forgetting' && (
        <ForgetDialog memory={value.memory} onDone={setForgotten} onClose={() => finish(false)} />
      )}
    </>
  );
}

function MemoryIdentity({ id }: { id: string }) {
  const code = useRef<HTMLElement>(null);
  return (
    <p className="soft long identity">
      <code ref={code}>{id}</code> <CopyButton text={id} label="memory id" shownIn={code} />
    </p>
  );
}

function Details({ memory }: { memory: Memory }) {
  const { session_id: session, user_id, agent_id, source, metadata } = memory;
  return (
    <section className="panel" aria-labelledby="details-title">
      <h2 id="details-title">Details</h2>
      <dl className="details">
        <Detail name="Created">{formatDateTime(memory.created_at)}</Detail>
        <Detail name="Updated">{formatDateTime(memory.updated_at)}</Detail>
        <Detail name="Session">
          {session === null ? 'None' : <a href={getSessionAddress(session, user_id)}>{session}</a>}
        </Detail>
        {user_id !== undefined && (
          <Detail name="User">
            <a href={getAddress('explore', { user_id })}>{user_id}</a>
          </Detail>
        )}
        {agent_id !== undefined && (
          <Detail name="Agent">
            <a href={getAddress('explore', { agent_id })}>{agent_id}</a>
          </Detail>
        )}
        <Detail name="Source">
          <a href={getAddress('explore', { source })}>{source === '' ? 'None' : source}</a>
        </Detail>
        <Detail name="Importance">{memory.importance}</Detail>
        <Detail name="Retention">
          <meter min={0} max={1} value={memory.retention} aria-label="Retention" /> {Math.round(memory.retention * 100)}{' '}
          %
        </Detail>
        <Detail name="Recalled">
          {formatCount(memory.access_count, 'time')}
          {memory.accessed_at !== null && `, last ${formatDateTime(memory.accessed_at)}`}
        </Detail>
        <Detail name="Expires">{memory.expires_at === null ? 'Never' : formatDateTime(memory.expires_at)}</Detail>
        <Detail name="Version">{memory.version}</Detail>
        {Object.entries(metadata).map(([key, value]) => (
          <Detail key={key} name={key}>
            <code>{JSON.stringify(value)}</code>
          </Detail>
        ))}
        <RelatedMemory name="Supersedes" id={memory.supersedes} />
        <RelatedMemory name="Superseded by" id={memory.superseded_by} />
        <RelatedMemory name="Merged into" id={memory.merged_into} />
        {memory.derived_from.length > 0 && (
          <Detail name="Distilled from">
            <span className="ids">
              {memory.derived_from.map((id) => (
                <MemoryLink key={id} id={id} />
              ))}
            </span>
          </Detail>
        )}
      </dl>
    </section>
  );
}

function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function RelatedMemory({ name, id }: { name: string; id: string | null }) {
  if (id === null) return null;
  return (
    <Detail name={name}>
      <MemoryLink id={id} />
    </Detail>
  );
}

function History({ history: { texts, total } }: { history: HistoryResponse }) {
  const newestFirst = texts.toReversed();
  return (
    <section className="panel" aria-labelledby="history-title">
      <h2 id="history-title">History</h2>
      <ol className="history">
        {newestFirst.map(({ revision, content, held_from: from }, i) => {
          const earlier = newestFirst[i + 1];
          return (
            <li key={revision}>
              <p className="soft">
                {earlier ? 'Changed' : 'Stored'} {formatDateTime(from)}
              </p>
              {earlier ? (
                <TextDiff before={earlier.content} after={content} />
              ) : (
                <p className="memory-text" dir="auto">
                  {content}
                </p>
              )}
            </li>
          );
        })}
      </ol>
      {total > texts.length && (
        <p className="soft">
          The first {texts.length} of {total} texts.
        </p>
      )}
    </section>
  );
}
