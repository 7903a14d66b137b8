import type { MemoryEvent, StatsResponse, Tier } from '@memoryd/client';
import { useCallback, useState } from 'react';
import { TIERS } from '../filter.ts';
import { clockTime, count, counted, distance, milliseconds, moment, size } from '../format.ts';
import { useLoaded } from '../loading.ts';
import { GrowthChart, type GrowthStep } from '../parts/growth-chart.tsx';
import { MemoryLink, OwnerLinks, When } from '../parts/labels.tsx';
import { LineChart } from '../parts/line-chart.tsx';
import { Failure, Nothing, Notice, Waiting } from '../parts/notice.tsx';
import { getAddress } from '../place.ts';
import { type Memories, useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';

/** How the service is, and what happens in it, as it happens. */
export function OverviewPage() {
  const { stats, health, error, awaySince, reload } = useWatch();
  const isStale = awaySince !== undefined;
  return (
    <>
      <header className="title">
        <h1>Overview</h1>
        <p className="soft">
          {health ? `memoryd ${health.version}, up for ${uptime(health.uptime_seconds)}` : 'memoryd'}
          <Light />
        </p>
      </header>
      {error !== undefined && !(isStale && stats) && <Failure error={error} onRetry={reload} />}
      {health?.embedder_problem !== undefined && (
        <Notice kind="warning">Recall goes by words alone: {health.embedder_problem}</Notice>
      )}
      {stats ? <Figures stats={stats} /> : error === undefined && <Waiting what="counts" />}
      <div className={`columns ${isStale ? 'stale' : ''}`}>
        <Growth />
        <Recalls />
      </div>
      <Happening />
    </>
  );
}

/** Whether what is shown is what is now. */
function Light() {
  const { awaySince, hearing } = useWatch();
  if (awaySince !== undefined) {
    return (
      <span className="live live-away" role="status">
        not reachable since {clockTime(awaySince)}, retrying
      </span>
    );
  }
  return <span className={`live live-${hearing}`}>{hearing === 'listening' ? 'live' : 'events have stopped'}</span>;
}

const TIER_MEANINGS: Readonly<Record<Tier, string>> = {
  working: 'just stored',
  episodic: 'promoted, word for word',
  semantic: 'distilled from several',
};

const countIn = (stats: StatsResponse, tier: Tier): number => stats[`${tier}_count`];

function Figures({ stats }: { stats: StatsResponse }) {
  const { shownFor } = useService();
  const { first, health, awaySince } = useWatch();
  return (
    <dl className={`figures ${awaySince === undefined ? '' : 'stale'}`}>
      {TIERS.map((tier) => (
        <Figure key={tier} name={tier} tier={tier} value={count(countIn(stats, tier))}>
          {TIER_MEANINGS[tier]}
          {first && <Change by={countIn(stats, tier) - countIn(first, tier)} />}
        </Figure>
      ))}
      <Figure name="database" value={size(stats.db_size_mb)}>
        {describeEmbedding(stats)}
      </Figure>
      <Figure name="embedder" value={health?.embedder ?? '–'}>
        {stats.embedding?.model ?? 'recall goes by words'}
      </Figure>
      <Figure name="last sleep" value={stats.last_sleep_at === null ? 'not yet' : <When at={stats.last_sleep_at} />}>
        <NextConsolidation at={stats.next_sleep_at} />
        {shownFor !== '' && ', for all users'}
      </Figure>
    </dl>
  );
}

function Figure({
  name,
  value,
  tier,
  children,
}: {
  name: string;
  value: React.ReactNode;
  tier?: Tier;
  children: React.ReactNode;
}) {
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
      {count(Math.abs(by))} since you came
    </span>
  );
}

function NextConsolidation({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return 'sleeps only when it is told to';
  return new Date(at).getTime() <= Date.now() ? 'next within a minute' : `next ${distance(at)}`;
}

function describeEmbedding({ embedding, pending_embeddings: pending }: StatsResponse): string {
  if (pending > 0) return `${counted(pending, 'memory waits', 'memories wait')} for vectors`;
  if (!embedding) return 'no vectors';
  return 'every memory has its vectors';
}

function uptime(seconds: number): string {
  if (seconds < 60) return 'less than a minute';
  if (seconds < 3600) return counted(Math.floor(seconds / 60), 'minute');
  if (seconds < 86_400) return counted(Math.floor(seconds / 3600), 'hour');
  return counted(Math.floor(seconds / 86_400), 'day');
}

const STEPS = 12;
const HOUR_MS = 3_600_000;
const SPANS = [
  { name: 'day', lengthMs: 24 * HOUR_MS },
  { name: 'month', lengthMs: 30 * 24 * HOUR_MS },
  { name: 'year', lengthMs: 365 * 24 * HOUR_MS },
] as const;
type Span = (typeof SPANS)[number];

function Growth() {
  const [span, setSpan] = useState<Span>(SPANS[1]);
  const ask = useCallback((memory: Memories, signal: AbortSignal) => growthOver(memory, span.lengthMs, signal), [span]);
  const { value, error, loading, reload } = useLoaded(ask);
  return (
    <section className="panel" aria-labelledby="growth-title">
      <div className="panel-head">
        <h2 id="growth-title">Growth</h2>
        <fieldset className="switch">
          <legend className="hidden">Time shown</legend>
          {SPANS.map((one) => (
            <label key={one.name}>
              <input type="radio" name="span" checked={one === span} onChange={() => setSpan(one)} />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {value ? <GrowthChart steps={value} busy={loading} /> : loading && <Waiting what="growth" />}
      <p className="soft note">What each tier holds now, by when it happened (its created_at).</p>
    </section>
  );
}

/** Counts by tier of the memories that are here now and had happened by each of some moments. */
async function growthOver(memory: Memories, lengthMs: number, signal: AbortSignal): Promise<GrowthStep[]> {
  const now = Date.now();
  const moments = Array.from({ length: STEPS }, (_, i) => now - (lengthMs * (STEPS - 1 - i)) / (STEPS - 1));
  const growth_at = moments.map((at) => new Date(at).toISOString());
  const { growth = [] } = await memory.memories({ growth_at, limit: 1 }, { signal });
  return growth.map((point) => ({ at: Date.parse(point.at), counts: TIERS.map((tier) => point[`${tier}_count`]) }));
}

function Recalls() {
  const { samples, maySeeLatency } = useWatch();
  const since = samples[0]?.at;
  const span = since === undefined ? '' : `since ${moment(since)}`;
  return (
    <section className="panel" aria-labelledby="recalls-title">
      <h2 id="recalls-title">Recalls</h2>
      {maySeeLatency ? (
        <LineChart
          title="Latency"
          format={milliseconds}
          span={span}
          empty={
            samples.at(-1)?.p50Ms === null
              ? 'Nothing was recalled in the last five minutes.'
              : 'Counting; a line comes with the next figure.'
          }
          lines={[
            { name: 'p50', colour: '--episodic', values: samples.map(({ p50Ms }) => p50Ms) },
            { name: 'p99', colour: '--working', values: samples.map(({ p99Ms }) => p99Ms) },
          ]}
        />
      ) : (
        <p className="plot-empty">Latency is told to keys that may operate.</p>
      )}
      <LineChart
        title="Rate"
        format={(value) => `${value.toFixed(1)} /s`}
        span={span}
        empty="Counting; a first figure comes in a few seconds."
        lines={[{ name: 'recalls', colour: '--semantic', values: samples.map((one) => one.recallsPerSecond) }]}
      />
      <p className="soft note">
        Gathered while this page is open, ten minutes of it. Latency is of all namespaces over the five minutes before,
        the rate of the memories shown. A recall that returns memories of several users counts once for each.
      </p>
    </section>
  );
}

/** Events that are shown. */
const SHOWN = 12;

function Happening() {
  const { events } = useWatch();
  return (
    <section className="panel" aria-labelledby="happening-title">
      <h2 id="happening-title">Happening</h2>
      {events.length === 0 ? (
        <Nothing title="Quiet">
          <p>What is stored, recalled, changed and forgotten shows up here at once.</p>
        </Nothing>
      ) : (
        <ol className="happening">
          {events.slice(0, SHOWN).map((event) => (
            <li key={event.id + event.at}>
              <span className="happening-what">{getTold(event)}</span>
              {'memory_ids' in event && <OwnerLinks of={event} />}
              <Named event={event} />
              <When at={event.at} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function getTold(event: MemoryEvent): string {
  if (event.type === 'gap') return 'some events were missed';
  if (event.type === 'consolidation') return `sleep ${event.state}`;
  return `${event.type} ${counted(event.count, 'memory', 'memories')}`;
}

/** Memories of an event that are named. */
const NAMED = 3;

function Named({ event }: { event: MemoryEvent }) {
  if (event.type === 'consolidation' && event.run_id !== undefined) {
    return <a href={getAddress('run', { id: event.run_id })}>the run</a>;
  }
  if (!('memory_ids' in event) || event.type === 'forgotten') return null;
  return (
    <span className="ids">
      {event.memory_ids.slice(0, NAMED).map((id) => (
        <MemoryLink key={id} id={id} />
      ))}
    </span>
  );
}
