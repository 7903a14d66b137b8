import type { UserSummary } from '@memoryd/client';
import { useCallback, useMemo, useState } from 'preact/compat';
import { download } from '../bulk/download-toast.ts';
import { useDebouncedInput } from '../debounced-input.ts';
import { formatCount, formatMemories, formatNumber } from '../format.ts';
import { RelativeTime } from '../parts/labels.tsx';
import { Failure, Nothing, Notice, Skeleton } from '../parts/notice.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useResource } from '../resource.ts';
import { getAddress, setParams } from '../route.ts';
import { useService } from '../service.tsx';
import { isForbidden, useAdministration } from './administration.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { createFileName } from './download.ts';
import { formatBytes, QuotaDialog, Usage } from './quota.tsx';

/** Users of one request, and maximum users of the list. Further ones would slow the page. */
const PAGE_USERS = 10_000;
const MAX_USERS = 50_000;

const ROW_PX = 60;
const TYPING_PAUSE_MS = 200;

const ORDERS = {
  user: { label: 'User', compare: (a: UserSummary, b: UserSummary) => a.user_id.localeCompare(b.user_id) },
  memories: { label: 'Memories', compare: (a: UserSummary, b: UserSummary) => a.memories - b.memories },
  bytes: { label: 'Size', compare: (a: UserSummary, b: UserSummary) => a.bytes - b.bytes },
  stored: {
    label: 'Last store',
    compare: (a: UserSummary, b: UserSummary) => Date.parse(a.last_stored_at) - Date.parse(b.last_stored_at),
  },
} as const;
type Order = keyof typeof ORDERS;

/** A dialog about a user. */
type Asked = { kind: 'quota' | 'forget'; user: UserSummary };

/** Lists the users of the namespace with their usage, and exports, limits and forgets a user. */
export function UsersPanel({ params, mayOperate }: { params: URLSearchParams; mayOperate: boolean }) {
  const { administration, client } = useAdministration();
  const load = useCallback(
    async (_: unknown, signal: AbortSignal) => {
      const users: UserSummary[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = { limit: PAGE_USERS, ...(cursor !== undefined && { cursor }) };
        const { users: more, total, next_cursor } = await client.users(page, { signal });
        users.push(...more);
        cursor = next_cursor;
        if (cursor === undefined || users.length >= MAX_USERS) return { users, total };
      }
    },
    [client],
  );
  const { value, error, loading, reload } = useResource(load);
  const prefix = params.get('name') ?? '';
  const order = getOrder(params);
  const isDescending = params.get('dir') === 'desc';
  const shown = useMemo(() => {
    const lower = prefix.toLocaleLowerCase();
    const matching = (value?.users ?? []).filter(({ user_id }) => user_id.toLocaleLowerCase().startsWith(lower));
    const { compare } = ORDERS[order];
    return matching.sort((a, b) => (isDescending ? compare(b, a) : compare(a, b)) || ORDERS.user.compare(a, b));
  }, [value, prefix, order, isDescending]);
  const [text, setText] = useDebouncedInput(prefix, (typed) => setParams({ name: typed }), TYPING_PAUSE_MS);
  const [asked, setAsked] = useState<Asked>();
  const [message, setMessage] = useState<string>();
  const finish = (done: string) => {
    setAsked(undefined);
    setMessage(done);
    reload();
  };
  const close = () => {
    setAsked(undefined);
    reload();
  };
  if (isForbidden(error)) {
    return <Notice kind="plain">A key for one user or agent may not see the other users.</Notice>;
  }
  return (
    <section aria-label="Users" className="stack">
      <div className="actions">
        <input
          type="search"
          aria-label="User begins with"
          placeholder="User begins with…"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <span className="soft results-count" role="status">
          {value && describeCount(shown.length, value.users.length, value.total)}
        </span>
      </div>
      {message !== undefined && <Notice kind="good">{message}</Notice>}
      <Failure error={error} onRetry={reload} />
      {!value && loading && <Skeleton what="users" />}
      {value && value.total === 0 && (
        <Nothing title="No users yet">
          <p>A user appears here with the first memory that is stored with a user_id.</p>
        </Nothing>
      )}
      {shown.length > 0 && (
        <>
          <fieldset className="admin-row admin-head users-row">
            <legend className="hidden">Sort by</legend>
            {Object.keys(ORDERS).map((name) => (
              <SortButton key={name} name={name as Order} isCurrent={name === order} isDescending={isDescending} />
            ))}
          </fieldset>
          <VirtualList
            label="Users"
            items={shown}
            total={shown.length}
            getKey={({ user_id }) => user_id}
            estimatePx={ROW_PX}
          >
            {(user) => <UserRow user={user} mayOperate={mayOperate} onAsk={(kind) => setAsked({ kind, user })} />}
          </VirtualList>
        </>
      )}
      {asked?.kind === 'quota' && (
        <QuotaDialog
          name={asked.user.user_id}
          quota={asked.user.quota}
          save={(quota) => administration.setUserQuota(asked.user.user_id, quota)}
          onDone={finish}
          onClose={close}
        />
      )}
      {asked?.kind === 'forget' && (
        <ConfirmDialog
          title={`Forget everything of ${asked.user.user_id}?`}
          label="Forget for good"
          typed={asked.user.user_id}
          act={async () => {
            const { forgotten_count } = await client.forgetMany({ user_id: asked.user.user_id });
            return `Forgot ${formatMemories(forgotten_count)} of ${asked.user.user_id}.`;
          }}
          onDone={finish}
          onClose={close}
        >
          <p>
            This deletes {formatMemories(asked.user.memories)} with their history and the summaries that were distilled
            from them. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

function describeCount(shown: number, loaded: number, total: number): string {
  const users =
    shown === total ? formatCount(total, 'user') : `${formatNumber(shown)} of ${formatCount(total, 'user')}`;
  return loaded < total ? `${users}, of which the first ${formatNumber(loaded)} are listed` : users;
}

function SortButton({ name, isCurrent, isDescending }: { name: Order; isCurrent: boolean; isDescending: boolean }) {
  // Numbers and times begin with the highest.
  const willDescend = isCurrent ? !isDescending : name !== 'user';
  return (
    <button
      type="button"
      className="sort"
      aria-pressed={isCurrent}
      onClick={() => setParams({ order: name, dir: willDescend ? 'desc' : '' })}
    >
      {ORDERS[name].label}
      {isCurrent && <span aria-hidden="true">{isDescending ? ' ▾' : ' ▴'}</span>}
      {isCurrent && <span className="hidden">, {isDescending ? 'descending' : 'ascending'}</span>}
    </button>
  );
}

interface UserRowProps {
  user: UserSummary;
  mayOperate: boolean;
  onAsk: (kind: Asked['kind']) => void;
}

function UserRow({ user, mayOperate, onAsk }: UserRowProps) {
  const { user_id: id, memories, bytes, quota, last_stored_at } = user;
  return (
    <div className="admin-row users-row" data-row={id} tabIndex={-1}>
      <a className="long" href={getAddress('', { user_id: id })}>
        {id}
      </a>
      <Usage label={`Memories of ${id}`} value={memories} limit={quota.memories} format={formatNumber} />
      <Usage label={`Size of ${id}`} value={bytes} limit={quota.bytes} format={formatBytes} />
      <span className="soft">
        <RelativeTime at={last_stored_at} />
      </span>
      <span className="row-actions">
        <ExportButton userId={id} />
        {mayOperate && (
          <button type="button" aria-label={`Quota of ${id}`} onClick={() => onAsk('quota')}>
            Quota…
          </button>
        )}
        <button type="button" className="danger" aria-label={`Forget ${id}`} onClick={() => onAsk('forget')}>
          Forget…
        </button>
      </span>
    </div>
  );
}

/** Saves all memories of a user as a file of JSON lines, which an import reads. */
function ExportButton({ userId }: { userId: string }) {
  const { client } = useAdministration();
  const { handleAuthError: onError } = useService();
  const run = () =>
    download({
      key: `export of ${userId}`,
      name: createFileName(userId, 'jsonl'),
      read: (signal) => withLineEnds(client.exportMemories({ user_id: userId }, signal)),
      describe: (bytes) => `Exporting ${userId}${bytes === 0 ? '…' : `: ${formatBytes(bytes)} so far`}`,
      describeSaved: () => `Exported ${userId}.`,
      onError,
    });
  return (
    <button type="button" aria-label={`Export ${userId}`} onClick={run}>
      Export
    </button>
  );
}

async function* withLineEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

function getOrder(params: URLSearchParams): Order {
  const name = params.get('order') ?? '';
  return Object.hasOwn(ORDERS, name) ? (name as Order) : 'user';
}
