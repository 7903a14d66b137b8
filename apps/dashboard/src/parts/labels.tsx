import type { Tier } from '@memoryd/client';
import { distance, moment } from '../format.ts';
import { getAddress } from '../place.ts';

export function TierLabel({ tier }: { tier: Tier }) {
  return <span className={`tier tier-${tier}`}>{tier}</span>;
}

/** A time as its distance from now, and whole when it is pointed at. */
export function When({ at }: { at: string }) {
  return (
    <time dateTime={at} title={moment(at)}>
      {distance(at)}
    </time>
  );
}

/** The tags of a memory, each a way to all that carry it. */
export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className="tags" aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag}>
          <a href={getAddress('explore', { tag })}>{tag}</a>
        </li>
      ))}
    </ul>
  );
}

/** The user and agent of a memory, each a way to all that are theirs. */
export function OwnerLinks({ of: { user_id, agent_id } }: { of: { user_id?: string; agent_id?: string } }) {
  return (
    <>
      {user_id !== undefined && <a href={getAddress('explore', { user_id })}>user {user_id}</a>}
      {agent_id !== undefined && <a href={getAddress('explore', { agent_id })}>agent {agent_id}</a>}
    </>
  );
}

/** A link to one memory, by a short form of its id. */
export function MemoryLink({ id }: { id: string }) {
  return (
    <a className="id" href={getAddress('memory', { id })} title={id}>
      {id.length > 14 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id}
    </a>
  );
}
