import type { StatsHistoryResponse, StatsPeriod, StatsResponse, Tier } from '@memoryd/client';
import { type ReactNode, useCallback, useEffect } from 'preact/compat';
import { download } from '../bulk/download-toast.ts';
import { TIERS } from '../filter.ts';
import {
  capitalize,
  formatCount,
  formatDateTime,
  formatLatency,
  formatMemories,
  formatNumber,
  formatRelativeTime,
  formatSize,
} from '../format.ts';
import { RelativeTime } from '../parts/labels.tsx';
import { LineChart } from '../parts/line-chart.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';
import { useAdministration } from './administration.ts';
import { createFileName } from './download.ts';
import { formatBytes } from './quota.tsx';

/** Shows the state of the service, its latency and rates of the last 24 hours, and downloads a backup. */
export function ServicePanel() {
  const { stats, health, error, reload } = useWatch();
  return (
    <section aria-label="Service" className="stack">
      <p className="soft">
        {health ? `memoryd ${health.version}, up for ${formatUptime(health.uptime_seconds)}` : 'memoryd'}
      </p>
      {health?.embedder_problem !== undefined && (
        <Notice kind="warning">Recall matches words only: {health.embedder_problem}</Notice>
      )}
      {health?.reranker_problem !== undefined && (
        <Notice kind="warning">Recall ranks without the reranker: {health.reranker_problem}</Notice>
      )}
      {stats === undefined &&
        (error === undefined ? <Loading what="the state" /> : <Failure error={error} onRetry={reload} />)}
      {stats !== undefined && <Figures stats={stats} />}
      <History />
      <Backup />
    </section>
  );
}

const TIER_MEANINGS: Readonly<Record<Tier, string>> = {
  working: 'Newly stored',
  episodic: 'Promoted, unchanged text',
  semantic: 'Distilled from several memories',
};

function Figures({ stats }: { stats: StatsResponse }) {
  const { scopeKey } = useService();
  const { health, unreachableSince } = useWatch();
  const lastRunAt = stats.last_sleep_at;
  return (
    <dl className={`figures ${unreachableSince === undefined ? '' : 'stale'}`}>
      {TIERS.map((tier) => (
        <Figure key={tier} name={capitalize(tier)} tier={tier} value={formatNumber(stats[`${tier}_count`])}>
          {TIER_MEANINGS[tier]}
        </Figure>
      ))}
      <Figure name="Database size" value={formatSize(stats.db_size_mb)}>
        {describeEmbeddings(stats)}
      </Figure>
      <Figure name="Embedder" value={health ? capitalize(health.embedder) : '–'}>
        {stats.embedding?.model ?? 'Recall matches words only'}
      </Figure>
      <Figure name="Last consolidation" value={lastRunAt === null ? 'Never' : <RelativeTime at={lastRunAt} />}>
        {describeNextRun(stats.next_sleep_at)}
        {scopeKey !== '' && ', all users'}
      </Figure>
    </dl>
  );
}

interface FigureProps {
  name: string;
  value: ReactNode;
  tier?: Tier;
  children: ReactNode;
}

function Figure({ name, value, tier, children }: FigureProps) {
  return (
    <div className="figure">
      <dt className={tier && `tier tier-${tier}`}>{name}</dt>
      <dd className="figure-value">{value}</dd>
      <dd className="soft">{children}</dd>
    </div>
  );
}

function describeNextRun(at: string | null | undefined): string {
  if (at === null || at === undefined) return 'Runs only on request';
  return new Date(at).getTime() <= Date.now() ? 'Next within a minute' : `Next ${formatRelativeTime(at)}`;
}

function describeEmbeddings({ embedding, pending_embeddings: pending }: StatsResponse): string {
  if (pending > 0) return `${formatMemories(pending)} waiting for embedding`;
  return embedding ? 'All memories are embedded' : 'No embeddings';
}

function formatUptime(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return formatCount(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? formatCount(hours, 'hour') : formatCount(Math.floor(hours / 24), 'day');
}

const RELOAD_INTERVAL_MS = 30_000;

function History() {
  const { administration } = useAdministration();
  const load = useCallback(
    (_: unknown, signal: AbortSignal) => administration.statsHistory({ signal }),
    [administration],
  );
  const { value, error, loading, reload } = useResource(load);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, RELOAD_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [reload]);
  if (!value) {
    return error === undefined ? (
      loading && <Loading what="latency and rates" />
    ) : (
      <Failure error={error} onRetry={reload} />
    );
  }
  return (
    <>
      <Failure error={error} onRetry={reload} />
      <Charts history={value} />
    </>
  );
}

function Charts({ history: { periods, period_seconds: seconds } }: { history: StatsHistoryResponse }) {
  const start = formatDateTime(periods[0]?.at ?? Date.now());
  const empty = 'The chart begins after the first five minutes.';
  const toRates = (field: 'recalls' | 'stores' | 'errors') =>
    periods.map((period) => (period[field] * 60) / getElapsedSeconds(period, seconds));
  return (
    <section className="panel" aria-labelledby="history-title">
      <h2 id="history-title">Last 24 hours</h2>
      <div className="columns admin-charts">
        <LineChart
          title="Latency of recalls"
          format={formatLatency}
          start={start}
          empty={empty}
          lines={[
            { name: 'p50', color: '--episodic', values: periods.map(({ p50_ms }) => p50_ms) },
            { name: 'p99', color: '--working', values: periods.map(({ p99_ms }) => p99_ms) },
          ]}
        />
        <LineChart
          title="Rates"
          format={(value) => `${formatNumber(Number(value.toFixed(1)))}/min`}
          start={start}
          empty={empty}
          lines={[
            { name: 'Recalls', color: '--semantic', values: toRates('recalls') },
            { name: 'Stored', color: '--episodic', values: toRates('stores') },
            { name: 'Errors', color: '--danger', values: toRates('errors') },
          ]}
        />
      </div>
      <p className="soft note">
        Each point covers five minutes and all namespaces. The points end with the process of the service.
      </p>
    </section>
  );
}

/** Returns the seconds of a period that have passed, at least a minute, so that a period that has just begun has no peak. */
function getElapsedSeconds({ at }: StatsPeriod, periodSeconds: number): number {
  return Math.min(periodSeconds, Math.max(60, (Date.now() - Date.parse(at)) / 1000));
}

/** Downloads a copy of the database. */
function Backup() {
  const { client } = useAdministration();
  const { handleAuthError: onError } = useService();
  const run = () =>
    download({
      key: 'backup',
      name: createFileName('backup', 'db'),
      read: (signal) => client.backup(signal),
      describe: (bytes) => (bytes === 0 ? 'Copying the database…' : `Backup: ${formatBytes(bytes)} so far`),
      describeSaved: () => 'The backup is complete. Your browser has saved the file.',
      onError,
    });
  return (
    <section className="panel" aria-labelledby="backup-title">
      <h2 id="backup-title">Backup</h2>
      <p className="soft">
        Downloads a consistent copy of the whole database, with all namespaces, while the service goes on. The copy
        contains every text; store it where only you can read it.
      </p>
      <div className="actions">
        <button type="button" onClick={run}>
          Download backup
        </button>
      </div>
    </section>
  );
}
