import type { Memory, RecallResult, Tier } from '@memoryd/client';
import type { ReactNode, TargetedEvent } from 'preact/compat';
import { capitalize, formatDateTime, formatRelativeTime } from '../format.ts';
import { getAddress, getCurrentParams, getOpenAddress, getSessionAddress, openMemory } from '../route.ts';

export function TierLabel({ tier }: { tier: Tier }) {
  return <span className={`tier tier-${tier}`}>{capitalize(tier)}</span>;
}

/** A time relative to now, with the date and time as tooltip. */
export function RelativeTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatDateTime(at)}>
      {formatRelativeTime(at)}
    </time>
  );
}

/** A date and time, with the time relative to now as tooltip. */
export function DateTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatRelativeTime(at)}>
      {formatDateTime(at)}
    </time>
  );
}

/** Tags that link to the memories with the same tag. */
export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className="tags" aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag}>
          <a href={getAddress('', { tag })}>{tag}</a>
        </li>
      ))}
    </ul>
  );
}

/** Links to the memories of a user and to the memories of an agent. An absent id has no link. */
export function OwnerLinks({ owner: { user_id, agent_id } }: { owner: { user_id?: string; agent_id?: string } }) {
  return (
    <>
      {user_id !== undefined && <a href={getAddress('', { user_id })}>User {user_id}</a>}
      {agent_id !== undefined && <a href={getAddress('', { agent_id })}>Agent {agent_id}</a>}
    </>
  );
}

interface OpenLinkProps {
  id: string;
  className?: string;
  title?: string;
  children: ReactNode;
}

/** A link that opens a memory beside the current view. */
function OpenLink({ id, children, ...rest }: OpenLinkProps) {
  // The address may have changed since the link was rendered, such as by a filter.
  const refresh = (event: TargetedEvent<HTMLAnchorElement, MouseEvent>) => {
    event.currentTarget.href = getOpenAddress(id);
  };
  const open = (event: TargetedEvent<HTMLAnchorElement, MouseEvent>) => {
    refresh(event);
    const isModified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (isModified || getCurrentParams().has('open')) return;
    event.preventDefault();
    openMemory(id);
  };
  return (
    <a {...rest} href={getOpenAddress(id)} onClick={open} onAuxClick={refresh} onContextMenu={refresh}>
      {children}
    </a>
  );
}

/** A link to a memory, shown as the shortened id. */
export function MemoryLink({ id }: { id: string }) {
  return (
    <OpenLink id={id} className="id" title={id}>
      {id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id}
    </OpenLink>
  );
}

interface MemoryTextProps {
  id: string;
  isClamped?: boolean;
  children: ReactNode;
}

/** The text of a memory as a link that opens it. */
export function MemoryText({ id, isClamped = false, children }: MemoryTextProps) {
  return (
    <p className={isClamped ? 'memory-text clamped' : 'memory-text'} dir="auto">
      <OpenLink id={id}>{children}</OpenLink>
    </p>
  );
}

/** A row with the time, session, owner, source, tags and id of a memory, and the memory that supersedes it. */
export function MemoryMeta({ memory, children }: { memory: Memory | RecallResult; children?: ReactNode }) {
  const { id, created_at: at, session_id: session, user_id, tags, superseded_by: newer } = memory;
  return (
    <div className="meta">
      {children}
      <DateTime at={at} />
      {session !== null && <a href={getSessionAddress(session, user_id)}>Session {session}</a>}
      <OwnerLinks owner={memory} />
      {'source' in memory && <a href={getAddress('', { source: memory.source })}>Source {memory.source || 'none'}</a>}
      <Tags tags={tags} />
      {typeof newer === 'string' && (
        <span>
          Superseded by <MemoryLink id={newer} />
        </span>
      )}
      <MemoryLink id={id} />
    </div>
  );
}
