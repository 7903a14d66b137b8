import type { NamespaceSummary } from '@memoryd/client';
import { useState } from 'preact/compat';
import { formatCount, formatMemories, formatNumber } from '../format.ts';
import { Nothing, Notice } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useAdministration } from './administration.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { formatBytes, QuotaDialog, Usage } from './quota.tsx';

const ROW_PX = 60;

interface NamespacesPanelProps {
  namespaces: readonly NamespaceSummary[];
  reload: () => void;
}

/** Lists the namespaces with their usage, and limits and deletes a namespace. */
export function NamespacesPanel({ namespaces, reload }: NamespacesPanelProps) {
  const { administration } = useAdministration();
  const [asked, setAsked] = useState<{ kind: 'quota' | 'delete'; namespace: NamespaceSummary }>();
  const [message, setMessage] = useState<string>();
  const close = () => {
    setAsked(undefined);
    reload();
  };
  const finish = (done: string) => {
    setMessage(done);
    close();
  };
  const { name = '', memories = 0, keys = 0, quota } = asked?.namespace ?? {};
  return (
    <section aria-label="Namespaces" className="stack">
      {message !== undefined && <Notice kind="good">{message}</Notice>}
      {namespaces.length === 0 && <Nothing title="No namespaces yet" />}
      <VirtualList
        label="Namespaces"
        items={namespaces}
        total={namespaces.length}
        getKey={(one) => one.name}
        estimatePx={ROW_PX}
      >
        {(namespace) => <NamespaceRow namespace={namespace} onAsk={(kind) => setAsked({ kind, namespace })} />}
      </VirtualList>
      {asked?.kind === 'quota' && quota && (
        <QuotaDialog
          name={name}
          quota={quota}
          save={(changed) => administration.setQuota(name, changed)}
          onDone={finish}
          onClose={close}
        />
      )}
      {asked?.kind === 'delete' && (
        <ConfirmDialog
          title={`Delete the namespace ${name}?`}
          label="Delete for good"
          typed={name}
          act={async () => {
            const { deleted_count } = await administration.deleteNamespace(name);
            return `The namespace ${name} is deleted, with ${formatMemories(deleted_count)}.`;
          }}
          onDone={finish}
          onClose={close}
        >
          <p>
            This deletes {formatMemories(memories)} of all users with their history, the consolidation runs, the quota
            and {formatCount(keys, 'key')}. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

interface NamespaceRowProps {
  namespace: NamespaceSummary;
  onAsk: (kind: 'quota' | 'delete') => void;
}

function NamespaceRow({ namespace: { name, memories, bytes, quota, keys }, onAsk }: NamespaceRowProps) {
  return (
    <div className="admin-row users-row" data-row={name} tabIndex={-1}>
      <b className="long">{name}</b>
      <Usage
        label={`Memories of ${name}`}
        value={memories}
        limit={quota.memories}
        format={(count) => `${formatNumber(count)} memories`}
      />
      <Usage label={`Size of ${name}`} value={bytes} limit={quota.bytes} format={formatBytes} />
      <span className="soft">{formatCount(keys, 'key')}</span>
      <span className="row-actions">
        <button type="button" aria-label={`Quota of ${name}`} onClick={() => onAsk('quota')}>
          Quota…
        </button>
        <button type="button" className="danger" aria-label={`Delete ${name}`} onClick={() => onAsk('delete')}>
          Delete…
        </button>
      </span>
    </div>
  );
}
