import { useCallback } from 'preact/compat';
import { Failure, Notice, Skeleton } from '../parts/notice.tsx';
import { getTab, Tabs } from '../parts/tabs.tsx';
import { useResource } from '../resource.ts';
import { isForbidden, useAdministration } from './administration.ts';
import { KeysPanel, NewKeyPanel } from './keys.tsx';
import { NamespacesPanel } from './namespaces.tsx';
import { ServicePanel } from './service-panel.tsx';
import { UsersPanel } from './users.tsx';
import './admin.css';

const TABS = ['users', 'keys', 'namespaces', 'service'] as const;

/** Shows and manages the users, API keys and namespaces, and shows the state of the service. */
export function AdminPage({ params }: { params: URLSearchParams }) {
  const { administration } = useAdministration();
  const load = useCallback(
    async (_: unknown, signal: AbortSignal) => (await administration.listNamespaces({ signal })).namespaces,
    [administration],
  );
  const { value: namespaces, error, loading, reload } = useResource(load);
  const mayOperate = !isForbidden(error);
  const tab = mayOperate ? getTab(params, TABS) : 'users';
  return (
    <>
      <header className="title">
        <h1>Admin</h1>
      </header>
      <NewKeyPanel />
      {mayOperate ? (
        <Tabs
          label="Parts of Admin"
          view="admin"
          current={tab}
          tabs={[
            ['users', 'Users'],
            ['keys', 'Keys'],
            ['namespaces', 'Namespaces'],
            ['service', 'Service'],
          ]}
        />
      ) : (
        <Notice kind="plain">
          This API key does not have the scope <code>operate</code>. It may not see keys, namespaces, latency and rates,
          and may not set quotas or download a backup.
        </Notice>
      )}
      {tab === 'users' && <UsersPanel params={params} mayOperate={namespaces !== undefined} />}
      {tab !== 'users' && !namespaces && loading && <Skeleton what="the administration" />}
      {tab !== 'users' && error !== undefined && <Failure error={error} onRetry={reload} />}
      {namespaces && tab === 'keys' && <KeysPanel params={params} namespaces={namespaces} />}
      {namespaces && tab === 'namespaces' && <NamespacesPanel namespaces={namespaces} reload={reload} />}
      {namespaces && tab === 'service' && <ServicePanel />}
    </>
  );
}
