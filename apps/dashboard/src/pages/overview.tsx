import type { MemoryEvent, StatsResponse, Tier } from '@memoryd/client';
import { type ReactNode, useCallback, useState } from 'preact/compat';
import { describeEvent, describeRedaction, getProgramSession } from '../activity.ts';
import { TIERS } from '../filter.ts';
import {
  capitalize,
  formatCount,
  formatDateTime,
  formatLatency,
  formatNumber,
  formatRelativeTime,
  formatSize,
  formatTime,
} from '../format.ts';
import { GettingStarted } from '../parts/getting-started.tsx';
import { GrowthChart, type GrowthStep } from '../parts/growth-chart.tsx';
import { MemoryLink, OwnerLinks, RelativeTime } from '../parts/labels.tsx';
import { LineChart } from '../parts/line-chart.tsx';
import { Failure, Loading, Nothing, Notice } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddress, getSessionAddress } from '../route.ts';
import { type Memories, useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';

/**
 * Shows the state and the activity of the service. If the namespace has no memories and no user or agent is selected,
 * shows how to store the first memory.
 */
export function OverviewPage() {
  const { scopeKey } = useService();
  const { stats, health, error, unreachableSince, reload } = useWatch();
  const [storedId, setStoredId] = useState<string>();
  const isStale = unreachableSince !== undefined;
  const isEmpty = stats !== undefined && scopeKey === '' && TIERS.every((tier) => getTierCount(stats, tier) === 0);
  const finishStore = (id: string) => {
    setStoredId(id);
    reload();
  };
  return (
    <>
      <header className="title">
        <h1>{isEmpty ? 'Store your first memory' : 'Overview'}</h1>
        <p className="soft">
          {health ? `memoryd ${health.version}, up for ${formatUptime(health.uptime_seconds)}` : 'memoryd'}
          <LiveStatus />
        </p>
      </header>
      {error !== undefined && !(isStale && stats) && <Failure error={error} onRetry={reload} />}
      {health?.embedder_problem !== undefined && (
        <Notice kind="warning">Recall matches words only: {health.embedder_problem}</Notice>
      )}
      {health?.reranker_problem !== undefined && (
        <Notice kind="warning">Recall ranks without the reranker: {health.reranker_problem}</Notice>
      )}
      {storedId !== undefined && (
        <Notice kind="good">
          <p>
            Memory stored. <a href={getAddress('memory', { id: storedId })}>Open the memory</a> or{' '}
            <a href={getAddress('recall')}>try a recall</a>.
          </p>
        </Notice>
      )}
      {stats === undefined && error === undefined && <Loading what="the overview" />}
      {isEmpty && <GettingStarted onStored={finishStore} />}
      {stats !== undefined && !isEmpty && <Dashboard stats={stats} />}
    </>
  );
}

function Dashboard({ stats }: { stats: StatsResponse }) {
  const { unreachableSince } = useWatch();
  return (
    <>
      <Figures stats={stats} />
      <div className={`columns ${unreachableSince === undefined ? '' : 'stale'}`}>
        <Growth />
        <Recalls />
      </div>
      <Activity />
    </>
  );
}

/** Shows whether the page is updated live, or since when the service is unreachable. */
function LiveStatus() {
  const { unreachableSince, streamState } = useWatch();
  if (unreachableSince !== undefined) {
    return (
      <span className="live live-unreachable" role="status">
        Service unreachable since {formatTime(unreachableSince)}; retrying
      </span>
    );
  }
  const label = streamState === 'live' ? 'Live' : 'Live updates stopped';
  return <span className={`live live-${streamState}`}>{label}</span>;
}

const TIER_MEANINGS: Readonly<Record<Tier, string>> = {
  working: 'Newly stored',
  episodic: 'Promoted, unchanged text',
  semantic: 'Distilled from several memories',
};

const getTierCount = (stats: StatsResponse, tier: Tier): number => stats[`${tier}_count`];

function Figures({ stats }: { stats: StatsResponse }) {
  const { scopeKey } = useService();
  const { firstStats, health, unreachableSince } = useWatch();
  const lastRunAt = stats.last_sleep_at;
  return (
    <dl className={`figures ${unreachableSince === undefined ? '' : 'stale'}`}>
      {TIERS.map((tier) => (
        <Figure key={tier} name={capitalize(tier)} tier={tier} value={formatNumber(getTierCount(stats, tier))}>
          {TIER_MEANINGS[tier]}
          {firstStats && <Change by={getTierCount(stats, tier) - getTierCount(firstStats, tier)} />}
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

function Change({ by }: { by: number }) {
  if (by === 0) return null;
  return (
    <span className="change">
      {by > 0 ? '+' : '−'}
      {formatNumber(Math.abs(by))} this visit
    </span>
  );
}

function describeNextRun(at: string | null | undefined): string {
  if (at === null || at === undefined) return 'Runs only on request';
  return new Date(at).getTime() <= Date.now() ? 'Next within a minute' : `Next ${formatRelativeTime(at)}`;
}

function describeEmbeddings({ embedding, pending_embeddings: pending }: StatsResponse): string {
  if (pending > 0) return `${formatCount(pending, 'memory', 'memories')} waiting for embedding`;
  return embedding ? 'All memories are embedded' : 'No embeddings';
}

function formatUptime(seconds: number): string {
  if (seconds < 60) return 'less than a minute';
  if (seconds < 3600) return formatCount(Math.floor(seconds / 60), 'minute');
  if (seconds < 86_400) return formatCount(Math.floor(seconds / 3600), 'hour');
  return formatCount(Math.floor(seconds / 86_400), 'day');
}

const STEPS = 12;
const HOUR_MS = 3_600_000;
const SPANS = [
  { name: 'Day', lengthMs: 24 * HOUR_MS },
  { name: 'Month', lengthMs: 30 * 24 * HOUR_MS },
  { name: 'Year', lengthMs: 365 * 24 * HOUR_MS },
] as const;
type Span = (typeof SPANS)[number];

function Growth() {
  const [span, setSpan] = useState<Span>(SPANS[1]);
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => fetchGrowth(memory, span.lengthMs, signal),
    [span],
  );
  const { value, error, loading, reload } = useResource(load);
  return (
    <section className="panel" aria-labelledby="growth-title">
      <div className="panel-head">
        <h2 id="growth-title">Growth</h2>
        <fieldset className="switch">
          <legend className="hidden">Time span</legend>
          {SPANS.map((one) => (
            <label key={one.name}>
              <input type="radio" name="span" checked={one === span} onChange={() => setSpan(one)} />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {value ? <GrowthChart steps={value} isBusy={loading} /> : loading && <Loading what="growth" />}
      <p className="soft note">Current memories by creation time (created_at).</p>
    </section>
  );
}

/**
 * Fetches, for `STEPS` evenly spaced times in the last `lengthMs`, the number of current memories per tier that were
 * created by that time.
 */
async function fetchGrowth(memory: Memories, lengthMs: number, signal: AbortSignal): Promise<GrowthStep[]> {
  const now = Date.now();
  const moments = Array.from({ length: STEPS }, (_, i) => now - (lengthMs * (STEPS - 1 - i)) / (STEPS - 1));
  const growth_at = moments.map((at) => new Date(at).toISOString());
  const { growth = [] } = await memory.memories({ growth_at, limit: 1 }, { signal });
  return growth.map((point) => ({ at: Date.parse(point.at), counts: TIERS.map((tier) => point[`${tier}_count`]) }));
}

function Recalls() {
  const { samples, canReadLatency } = useWatch();
  const startAt = samples[0]?.at;
  const start = startAt === undefined ? '' : formatDateTime(startAt);
  return (
    <section className="panel" aria-labelledby="recalls-title">
      <h2 id="recalls-title">Recalls</h2>
      {canReadLatency ? (
        <LineChart
          title="Latency"
          format={formatLatency}
          start={start}
          empty={samples.at(-1)?.p50Ms === null ? 'No recalls in the last 5 minutes' : 'Collecting data…'}
          lines={[
            { name: 'p50', color: '--episodic', values: samples.map(({ p50Ms }) => p50Ms) },
            { name: 'p99', color: '--working', values: samples.map(({ p99Ms }) => p99Ms) },
          ]}
        />
      ) : (
        <p className="plot-empty">Latency requires an API key with the operate scope.</p>
      )}
      <LineChart
        title="Rate"
        format={(value) => `${value.toFixed(1)}/s`}
        start={start}
        empty="Collecting data…"
        lines={[{ name: 'Recalls', color: '--semantic', values: samples.map((one) => one.recallsPerSecond) }]}
      />
      <p className="soft note">
        Latency covers the last 5 minutes and all namespaces. The rate counts recalls of the memories shown, once per
        user. Both charts start when you open this page and show at most the last 10 minutes.
      </p>
    </section>
  );
}

const MAX_SHOWN_EVENTS = 12;

function Activity() {
  const { events } = useWatch();
  return (
    <section className="panel" aria-labelledby="activity-title">
      <h2 id="activity-title">Activity</h2>
      {events.length === 0 ? (
        <Nothing title="No activity since you opened this page">
          <p>Stored, recalled, updated and forgotten memories appear here immediately, and what agents were given.</p>
        </Nothing>
      ) : (
        <ol className="activity">
          {events.slice(0, MAX_SHOWN_EVENTS).map((event) => (
            <li key={event.id + event.at}>
              <span>
                {describeEvent(event)}
                <Redaction event={event} />
              </span>
              <span className="meta">
                {('memory_ids' in event || event.type === 'import') && <OwnerLinks owner={event} />}
                <SessionLink event={event} />
                <EventLinks event={event} />
              </span>
              <RelativeTime at={event.at} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

const MAX_SHOWN_IDS = 3;

/** Links to the session of an agent program. */
function SessionLink({ event }: { event: MemoryEvent }) {
  const session = getProgramSession(event);
  if (session === undefined || !('memory_ids' in event)) return null;
  return <a href={getSessionAddress(session, event.user_id)}>Show session</a>;
}

function Redaction({ event }: { event: MemoryEvent }) {
  const text = describeRedaction(event);
  return text === undefined ? null : <span className="soft"> · {text}</span>;
}

function EventLinks({ event }: { event: MemoryEvent }) {
  if (event.type === 'consolidation' && event.run_id !== undefined) {
    return <a href={getAddress('run', { id: event.run_id })}>Show run</a>;
  }
  if (!('memory_ids' in event) || event.type === 'forgotten') return null;
  return (
    <span className="ids">
      {event.memory_ids.slice(0, MAX_SHOWN_IDS).map((id) => (
        <MemoryLink key={id} id={id} />
      ))}
    </span>
  );
}
