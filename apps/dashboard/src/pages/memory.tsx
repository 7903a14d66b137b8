import type { HistoryResponse, Memory } from '@memoryd/client';
import { type ReactNode, useCallback, useState } from 'react';
import { counted, moment } from '../format.ts';
import { useLoaded } from '../loading.ts';
import { ForgetDialog } from '../parts/forget-dialog.tsx';
import { MemoryLink, Tags, TierLabel } from '../parts/labels.tsx';
import { MemoryEditor } from '../parts/memory-editor.tsx';
import { Failure, Notice, Waiting } from '../parts/notice.tsx';
import { TextDiff } from '../parts/text-diff.tsx';
import { addressFor, getAddress, isOwn, sessionAddress } from '../place.ts';
import { type Memories, useService } from '../service.tsx';

/** Texts of a history that are shown. */
const SHOWN_TEXTS = 100;

interface Whole {
  memory: Memory;
  history: HistoryResponse;
}

/** One memory whole: its text, what it was before, what it hangs together with. */
export function MemoryPage({ asked }: { asked: URLSearchParams }) {
  const id = asked.get('id') ?? '';
  const ask = useCallback(
    async (memory: Memories, signal: AbortSignal): Promise<Whole> => {
      const [found, history] = await Promise.all([
        memory.memory(id, { signal }),
        memory.history(id, { limit: SHOWN_TEXTS }, { signal }),
      ]);
      return { memory: found, history };
    },
    [id],
  );
  const { value, error, loading, reload } = useLoaded(ask);
  const { unsaved } = useService();
  const [doing, setDoing] = useState<'nothing' | 'editing' | 'forgetting'>(() =>
    unsaved.has(id) ? 'editing' : 'nothing',
  );
  const [saved, setSaved] = useState(false);
  const [wasEdited, setWasEdited] = useState(false);
  /** What was told when it was forgotten. */
  const [forgotten, setForgotten] = useState<string>();
  const finish = (isSaved: boolean) => {
    setDoing('nothing');
    setWasEdited(doing === 'editing');
    setSaved(isSaved);
    reload();
  };
  const isThere = value !== undefined && value.memory.id === id && error === undefined && forgotten === undefined;
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('explore')}>Explore</a>
        </p>
        <h1>Memory</h1>
        <p className="soft long">
          <code>{id}</code>
        </p>
      </header>
      {(saved || forgotten !== undefined) && <Notice kind="good">{forgotten ?? 'Saved.'}</Notice>}
      {error !== undefined && forgotten === undefined && <Failure error={error} onRetry={reload} />}
      {!isThere && loading && <Waiting what="the memory" />}
      {isThere && doing === 'editing' && (
        <MemoryEditor memory={value.memory} onDone={() => finish(true)} onCancel={() => finish(false)} />
      )}
      {isThere && doing !== 'editing' && (
        <section className="panel memory" aria-label="The memory">
          <TierLabel tier={value.memory.tier} />
          <p className="memory-text" dir="auto">
            {value.memory.content}
          </p>
          <Tags tags={value.memory.tags} />
          {isOwn(value.memory, asked) ? (
            <div className="actions">
              <button
                type="button"
                // biome-ignore lint/a11y/noAutofocus: back from the form, whose buttons are gone
                autoFocus={wasEdited}
                onClick={() => setDoing('editing')}
              >
                Edit
              </button>
              <button type="button" className="danger" onClick={() => setDoing('forgetting')}>
                Forget…
              </button>
            </div>
          ) : (
            <p className="soft">
              This memory is shared. <a href={addressFor(undefined, 'memory', asked)}>Show all</a> to change it.
            </p>
          )}
        </section>
      )}
      {isThere && (
        <div className="columns">
          <Facts memory={value.memory} />
          <History history={value.history} />
        </div>
      )}
      {isThere && doing === 'forgetting' && (
        <ForgetDialog memory={value.memory} onDone={setForgotten} onClose={() => finish(false)} />
      )}
    </>
  );
}

function Facts({ memory }: { memory: Memory }) {
  const { session_id: session, source, metadata } = memory;
  return (
    <section className="panel" aria-labelledby="facts-title">
      <h2 id="facts-title">What is known of it</h2>
      <dl className="facts">
        <Fact name="happened">{moment(memory.created_at)}</Fact>
        <Fact name="changed">{moment(memory.updated_at)}</Fact>
        <Fact name="session">
          {session === null ? 'none' : <a href={sessionAddress(session, memory.user_id)}>{session}</a>}
        </Fact>
        {memory.user_id !== undefined && (
          <Fact name="user">
            <a href={getAddress('explore', { user_id: memory.user_id })}>{memory.user_id}</a>
          </Fact>
        )}
        {memory.agent_id !== undefined && (
          <Fact name="agent">
            <a href={getAddress('explore', { agent_id: memory.agent_id })}>{memory.agent_id}</a>
          </Fact>
        )}
        <Fact name="source">
          <a href={getAddress('explore', { source })}>{source === '' ? 'none' : source}</a>
        </Fact>
        <Fact name="importance">{memory.importance}</Fact>
        <Fact name="retained">
          <meter min={0} max={1} value={memory.retention} aria-label="Retained" /> {Math.round(memory.retention * 100)}{' '}
          %
        </Fact>
        <Fact name="recalled">
          {counted(memory.access_count, 'time')}
          {memory.accessed_at !== null && `, last ${moment(memory.accessed_at)}`}
        </Fact>
        <Fact name="expires">{memory.expires_at === null ? 'never' : moment(memory.expires_at)}</Fact>
        <Fact name="version">{memory.version}</Fact>
        {Object.entries(metadata).map(([key, value]) => (
          <Fact key={key} name={key}>
            <code>{JSON.stringify(value)}</code>
          </Fact>
        ))}
        <Link name="corrects" id={memory.supersedes} />
        <Link name="corrected by" id={memory.superseded_by} />
        <Link name="merged into" id={memory.merged_into} />
        {memory.derived_from.length > 0 && (
          <Fact name="distilled from">
            <span className="ids">
              {memory.derived_from.map((id) => (
                <MemoryLink key={id} id={id} />
              ))}
            </span>
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Link({ name, id }: { name: string; id: string | null }) {
  if (id === null) return null;
  return (
    <Fact name={name}>
      <MemoryLink id={id} />
    </Fact>
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
                {earlier ? 'Changed' : 'Stored'} {moment(from)}
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
          Its first {texts.length} texts of {total}.
        </p>
      )}
    </section>
  );
}
