import type { ApiKey, NamespaceSummary, NewKey } from '@memoryd/client';
import { useCallback, useId, useMemo, useRef, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { focusOnMount } from '../focus.ts';
import { capitalize, formatCount, formatDateTime } from '../format.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { RelativeTime } from '../parts/labels.tsx';
import { Failure, Nothing, Notice, Skeleton } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useResource } from '../resource.ts';
import { getAddress, goTo } from '../route.ts';
import { useService } from '../service.tsx';
import { useAdministration } from './administration.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { newKey } from './new-key.ts';

const ROW_PX = 76;

/** Lists the API keys, and adds and revokes keys. */
export function KeysPanel({
  params,
  namespaces,
}: {
  params: URLSearchParams;
  namespaces: readonly NamespaceSummary[];
}) {
  const { administration } = useAdministration();
  const { apiKey, keyId } = useService();
  const load = useCallback(
    async (_: unknown, signal: AbortSignal) => (await administration.listKeys({ signal })).keys,
    [administration],
  );
  const { value: keys, error, loading, reload } = useResource(load);
  const showsRevoked = params.get('revoked') === 'true';
  const shown = useMemo(
    () => (keys ?? []).filter(({ revoked_at }) => showsRevoked || revoked_at === null).toReversed(),
    [keys, showsRevoked],
  );
  const revokedCount = keys?.filter(({ revoked_at }) => revoked_at !== null).length ?? 0;
  const [isAdding, setIsAdding] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey>();
  const [message, setMessage] = useState<string>();
  const closeRevoking = () => {
    setRevoking(undefined);
    reload();
  };
  return (
    <section aria-label="Keys" className="stack">
      <div className="actions">
        <button type="button" className="primary" disabled={!keys} onClick={() => setIsAdding(true)}>
          Add key…
        </button>
        {revokedCount > 0 && (
          <label className="inline">
            <input
              type="checkbox"
              checked={showsRevoked}
              onChange={(event) =>
                goTo(getAddress('admin', { tab: 'keys', ...(event.currentTarget.checked && { revoked: 'true' }) }), {
                  replace: true,
                })
              }
            />
            Show {formatCount(revokedCount, 'revoked key')}
          </label>
        )}
      </div>
      {message !== undefined && <Notice kind="good">{message}</Notice>}
      <Failure error={error} onRetry={reload} />
      {!keys && loading && <Skeleton what="keys" />}
      {keys?.length === 0 && (
        <Nothing title="No keys yet">
          <p>Until the first key exists, programs on this machine need no key, and other machines have no access.</p>
        </Nothing>
      )}
      {shown.length > 0 && (
        <VirtualList label="Keys" items={shown} total={shown.length} getKey={({ id }) => id} estimatePx={ROW_PX}>
          {(key) => <KeyRow apiKey={key} isOwn={key.id === keyId} onRevoke={() => setRevoking(key)} />}
        </VirtualList>
      )}
      {isAdding && (
        <AddKeyDialog
          isFirst={keys?.length === 0 && apiKey === undefined}
          namespaces={namespaces}
          onDone={() => {
            setIsAdding(false);
            reload();
          }}
          onClose={() => setIsAdding(false)}
        />
      )}
      {revoking && (
        <ConfirmDialog
          title={`Revoke ${getName(revoking)}?`}
          label="Revoke key"
          act={async () => {
            await administration.revokeKey(revoking.id);
            return `${capitalize(getName(revoking))} is revoked.`;
          }}
          onDone={(done) => {
            setMessage(done);
            closeRevoking();
          }}
          onClose={closeRevoking}
        >
          <p>Programs that use this key lose access within a second. This cannot be undone.</p>
          {revoking.id === keyId && <Notice kind="warning">This page uses this key. You have to sign in again.</Notice>}
        </ConfirmDialog>
      )}
    </section>
  );
}

const getName = ({ name, id }: ApiKey): string => (name === '' ? `key ${id}` : name);

function KeyRow({ apiKey: key, isOwn, onRevoke }: { apiKey: ApiKey; isOwn: boolean; onRevoke: () => void }) {
  return (
    <div className="admin-row keys-row" data-row={key.id} tabIndex={-1}>
      <span className="long">
        <b>{key.name === '' ? <span className="soft">No name</span> : key.name}</b>
        {isOwn && <span className="soft"> · this page</span>}
        <br />
        <code className="soft">{key.id}</code>
      </span>
      <span className="long">
        {key.namespace} · <b>{key.scope}</b>
        {(key.user_id !== undefined || key.agent_id !== undefined) && (
          <>
            <br />
            <span className="soft">
              {[
                ...(key.user_id === undefined ? [] : [`User ${key.user_id}`]),
                ...(key.agent_id === undefined ? [] : [`Agent ${key.agent_id}`]),
              ].join(', ')}
            </span>
          </>
        )}
      </span>
      <span className="soft">
        Created <RelativeTime at={key.created_at} />
        <br />
        {key.last_used_at === null ? (
          'Never used'
        ) : (
          <>
            Used <RelativeTime at={key.last_used_at} />
          </>
        )}
      </span>
      <span className="soft">{describeEnd(key)}</span>
      <span className="row-actions">
        {key.revoked_at === null && (
          <button type="button" className="danger" aria-label={`Revoke ${getName(key)}`} onClick={onRevoke}>
            Revoke…
          </button>
        )}
      </span>
    </div>
  );
}

function describeEnd({ revoked_at, expires_at }: ApiKey): string {
  if (revoked_at !== null) return `Revoked ${formatDateTime(revoked_at)}`;
  if (expires_at === null) return 'Never expires';
  return `${Date.parse(expires_at) <= Date.now() ? 'Expired' : 'Expires'} ${formatDateTime(expires_at)}`;
}

const SCOPES = [
  ['read', 'read: recall and read memories'],
  ['write', 'write: also store, change and forget'],
  ['operate', 'operate: everything, in all namespaces'],
  ['metrics', 'metrics: only read metrics'],
] as const satisfies readonly (readonly [NewKey['scope'], string])[];

interface AddKeyDialogProps {
  /** Whether this key ends access without a key. */
  isFirst: boolean;
  namespaces: readonly NamespaceSummary[];
  onDone: () => void;
  onClose: () => void;
}

/** Creates an API key. Says before what the first key changes. */
function AddKeyDialog({ isFirst, namespaces, onDone, onClose }: AddKeyDialogProps) {
  const { administration } = useAdministration();
  const { setApiKey } = useService();
  const [fields, setFields] = useState({ name: '', namespace: 'default', user: '', agent: '', expires: '' });
  // The first key should be able to do what the page can do now.
  const [scope, setScope] = useState<NewKey['scope']>(isFirst ? 'operate' : 'write');
  const set = (change: Partial<typeof fields>) => setFields((before) => ({ ...before, ...change }));
  const id = useId();
  const action = useAction(async () => {
    const key = await administration.addKey({
      namespace: fields.namespace.trim(),
      scope,
      ...(fields.name.trim() !== '' && { name: fields.name.trim() }),
      ...(fields.user !== '' && { user_id: fields.user }),
      ...(fields.agent !== '' && { agent_id: fields.agent }),
      ...(fields.expires !== '' && { expires_at: new Date(fields.expires).toISOString() }),
    });
    newKey.set(key);
    onDone();
    // The service refuses requests without a key from now on.
    if (isFirst) setApiKey(key.key);
  });
  const text = (name: keyof typeof fields, label: string, props: object = {}) => (
    <>
      <label htmlFor={id + name}>{label}</label>
      <input
        id={id + name}
        autoComplete="off"
        value={fields[name]}
        onChange={(event) => set({ [name]: event.currentTarget.value })}
        {...props}
      />
    </>
  );
  return (
    <FormDialog title="Add a key" action={action} label="Add key" onClose={onClose}>
      {isFirst && (
        <Notice kind="warning">
          <p>
            This is the first key. From then on, every program on this machine needs a key too, also after all keys are
            revoked. This page signs in with the new key.
          </p>
          {scope !== 'operate' && (
            <p>Without the scope operate, this page then cannot manage keys. Add a key with the scope operate first.</p>
          )}
        </Notice>
      )}
      {text('name', 'Name', { ref: focusOnMount, placeholder: 'Laptop of Anna' })}
      {text('namespace', 'Namespace', { required: true, list: `${id}namespaces` })}
      <datalist id={`${id}namespaces`}>
        {namespaces.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label htmlFor={`${id}scope`}>Scope</label>
      <select
        id={`${id}scope`}
        value={scope}
        onChange={(event) => setScope(event.currentTarget.value as NewKey['scope'])}
      >
        {SCOPES.map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      {text('user', 'Only this user', { placeholder: 'All users' })}
      {text('agent', 'Only this agent', { placeholder: 'All agents' })}
      {text('expires', 'Expires', { type: 'datetime-local' })}
    </FormDialog>
  );
}

/** Shows the key that was just created, until the user closes it. */
export function NewKeyPanel() {
  const key = newKey.use();
  const secret = useRef<HTMLElement>(null);
  if (!key) return null;
  return (
    <section className="panel new-key" aria-labelledby="new-key-title" tabIndex={-1} ref={focusOnMount}>
      <h2 id="new-key-title">{key.name === '' ? 'New key' : `New key: ${key.name}`}</h2>
      <p>Copy the key now. The service stores only its digest, so nobody can show the key again.</p>
      <p>
        <code className="long secret" ref={secret}>
          {key.key}
        </code>
      </p>
      <div className="actions">
        <CopyButton text={key.key} label="key" shownIn={secret} />
        <button type="button" onClick={() => newKey.set(undefined)}>
          I have copied the key
        </button>
      </div>
    </section>
  );
}
