import type { Memory } from '@memoryd/client';
import { type ReactNode, useRef } from 'preact/compat';
import { formatCount, formatDateTime } from '../format.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { getAddress, getSessionAddress } from '../route.ts';
import { Section } from './section.tsx';

/** Shows what the service knows about a memory, beside what a person can edit. */
export function Facts({ memory }: { memory: Memory }) {
  const { id, session_id: session, user_id, agent_id, source, external_id } = memory;
  return (
    <Section title="Details">
      <dl className="details">
        <Fact name="Id">
          <CopiedId id={id} label="memory id" />
        </Fact>
        <Fact name="Created">{formatDateTime(memory.created_at)}</Fact>
        <Fact name="Changed">{formatDateTime(memory.updated_at)}</Fact>
        <Fact name="Used">
          {formatCount(memory.access_count, 'time')}
          {memory.accessed_at !== null && `, last ${formatDateTime(memory.accessed_at)}`}
        </Fact>
        <Fact name="Source">
          <a href={getAddress('', { source })}>{source === '' ? 'None' : source}</a>
        </Fact>
        <Fact name="Session">
          {session === null ? 'None' : <a href={getSessionAddress(session, user_id)}>{session}</a>}
        </Fact>
        {user_id !== undefined && (
          <Fact name="User">
            <a href={getAddress('', { user_id })}>{user_id}</a>
          </Fact>
        )}
        {agent_id !== undefined && (
          <Fact name="Agent">
            <a href={getAddress('', { agent_id })}>{agent_id}</a>
          </Fact>
        )}
        {external_id !== undefined && (
          <Fact name="External id">
            <CopiedId id={external_id} label="external id" />
          </Fact>
        )}
        <Fact name="Retention">
          <meter min={0} max={1} value={memory.retention} aria-label="Retention" /> {Math.round(memory.retention * 100)}{' '}
          %
        </Fact>
        <Fact name="Version">{memory.version}</Fact>
      </dl>
    </Section>
  );
}

function CopiedId({ id, label }: { id: string; label: string }) {
  const code = useRef<HTMLElement>(null);
  return (
    <span className="identity">
      <code ref={code}>{id}</code> <CopyButton text={id} label={label} shownIn={code} />
    </span>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
