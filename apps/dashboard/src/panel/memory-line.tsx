import type { Memory } from '@memoryd/client';
import type { ReactNode } from 'preact/compat';
import { usePendingForget } from '../bulk/pending-forgets.ts';
import { MemoryText, RelativeTime } from '../parts/labels.tsx';

interface MemoryLineProps {
  memory: Pick<Memory, 'id' | 'content' | 'created_at'>;
  /** Notes about the memory, before its time. */
  children?: ReactNode;
}

/** Another memory in a list of the panel, as a link that opens it. */
export function MemoryLine({ memory: { id, content, created_at: at }, children }: MemoryLineProps) {
  const isForgetting = usePendingForget(id) !== undefined;
  return (
    <li className={isForgetting ? 'memory-line forgetting' : 'memory-line'}>
      <MemoryText id={id} isClamped>
        {content}
      </MemoryText>
      <div className="meta">
        {children}
        <RelativeTime at={at} />
      </div>
    </li>
  );
}
