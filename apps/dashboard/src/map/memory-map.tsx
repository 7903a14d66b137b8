import type { MapPoint, MapResponse } from '@memoryd/client';
import { useCallback, useEffect, useMemo, useState } from 'preact/compat';
import { useDebouncedInput } from '../debounced-input.ts';
import { parseListFilter } from '../filter.ts';
import { capitalize, formatMemories, formatNumber } from '../format.ts';
import { NoMemories } from '../memories/no-memories.tsx';
import { useSelection } from '../memories/selection.tsx';
import { RelativeTime } from '../parts/labels.tsx';
import { Failure, Nothing, Outdated } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddress, openMemory, setParams, withoutParams } from '../route.ts';
import type { Memories } from '../service.tsx';
import { useShownTheme } from '../theme.ts';
import { COLORINGS, type Coloring, groupByColor } from './coloring.ts';
import { GroupList } from './group-list.tsx';
import { LitList, useLit } from './lit.tsx';
import { MapCanvas, type Pointed } from './map-canvas.tsx';
import './map.css';
import { useChanges } from './changes.ts';
import { PointedText, useTexts } from './texts.tsx';

/** Delay before the next request for a map that is being computed. Grows with the number of points. */
const POLL_MS = 2000;
const POLL_PER_POINT_MS = 0.5;
const TYPING_DELAY_MS = 300;

/** Shows the memories that match the filters as a map: memories of similar meaning are near each other. */
export function MemoryMap({ params }: { params: URLSearchParams }) {
  const filter = JSON.stringify(parseListFilter(params));
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal) => {
      const askedAt = performance.now();
      return { ...(await memory.map(JSON.parse(filter), { signal })), askedAt };
    },
    [filter],
  );
  const { value, error, reload } = useResource(load);
  const { forgotten, isOutdated } = useChanges(value?.askedAt, reload);
  const isUnfinished = value?.state === 'computing' || value?.is_changing;
  useEffect(() => {
    if (!value || !isUnfinished) return;
    const timer = setTimeout(reload, POLL_MS + POLL_PER_POINT_MS * value.points.length);
    return () => clearTimeout(timer);
  }, [isUnfinished, value, reload]);
  const points = useMemo(() => value?.points.filter(({ id }) => !forgotten.has(id)) ?? [], [value, forgotten]);
  return (
    <>
      <Failure error={error} onRetry={reload} />
      {value === undefined && error === undefined && <Waiting text="Loading the map…" />}
      {value?.state === 'computing' && <Waiting text={`Computing the map of ${formatMemories(value.total)}…`} />}
      {value?.state === 'unavailable' && (
        <Nothing title="No map without vectors">
          <p>
            These memories have no vectors: the service runs without an embedding model, or has not embedded these
            memories yet.
          </p>
        </Nothing>
      )}
      {value?.state === 'ready' &&
        (points.length === 0 ? (
          <NoPoints map={value} params={params} onStored={reload} />
        ) : (
          <LoadedMap map={value} points={points} params={params} outdated={isOutdated ? reload : undefined} />
        ))}
    </>
  );
}

/** Shown in place of a map that is not there yet. */
function Waiting({ text }: { text: string }) {
  return (
    <div className="map-waiting">
      <p role="status">{text}</p>
    </div>
  );
}

function NoPoints({ map, params, onStored }: { map: MapResponse; params: URLSearchParams; onStored: () => void }) {
  if (map.total === map.points.length) return <NoMemories params={params} onStored={onStored} />;
  return (
    <Nothing title="None of these memories is on the map">
      <p>
        {formatMemories(map.total)} match, but the map has only the newest memories that have vectors. See them in the{' '}
        <a href={getAddress('', withoutParams(params, 'view'))}>table</a>.
      </p>
    </Nothing>
  );
}

interface LoadedMapProps {
  map: MapResponse;
  points: readonly MapPoint[];
  params: URLSearchParams;
  /** Loads the map again; undefined if no memory has changed since. */
  outdated: (() => void) | undefined;
}

function LoadedMap({ map, points, params, outdated }: LoadedMapProps) {
  const theme = useShownTheme();
  const [isSelecting, setIsSelecting] = useState(false);
  const [pointed, setPointed] = useState<Pointed>();
  const loadText = useTexts(map);
  const coloring = COLORINGS.find((one) => one === params.get('color')) ?? 'cluster';
  const { named, groups } = useGroups(map, points, coloring);
  const chosen = groups.find(({ key }) => key === params.get('group'));
  const aim = useAim(points, chosen?.key, chosen?.points);
  const indexes = useMemo(() => new Map(points.map(({ id }, index) => [id, index])), [points]);
  const { marked, selectIndexes, toggle } = useMarked(points, indexes);
  const { lit, error, reload } = useLit(params, indexes);
  const open = params.get('open');
  const pointedAt = pointed && points[pointed.index];
  return (
    <>
      <MapTools
        params={params}
        coloring={coloring}
        isSelecting={isSelecting}
        onSelecting={setIsSelecting}
        hasSelection={marked.size > 0}
      />
      <Failure error={error} onRetry={reload} />
      <p className="map-count soft" role="status">
        {describePoints(points.length, map.total - (map.points.length - points.length))}
        {map.computed_at !== null && (
          <>
            {' · computed '}
            <RelativeTime at={map.computed_at} />
          </>
        )}
        {map.is_changing && ' · a newer map is being computed'}
        {outdated && !map.is_changing && <Outdated onReload={outdated} />}
      </p>
      <div className="map">
        <div className="map-stage">
          <MapCanvas
            {...{ points, groups, named, aim, theme, isSelecting }}
            chosen={chosen?.key}
            lit={lit?.strengths}
            selected={marked}
            open={open === null ? undefined : indexes.get(open)}
            onPoint={setPointed}
            onOpen={(index) => openMemory((points[index] as MapPoint).id)}
            onSelect={selectIndexes}
            onToggle={toggle}
          />
          {pointed && pointedAt && (
            <PointedText
              pointed={pointed}
              point={pointedAt}
              score={lit?.results.find(({ id }) => id === pointedAt.id)?.score}
              loadText={loadText}
            />
          )}
        </div>
        <div className="map-lists">
          {lit && <LitList lit={lit} />}
          <GroupList
            {...{ groups, coloring, points, loadText }}
            chosen={chosen?.key}
            onChoose={(group) => setParams({ group })}
            onSelect={(members) => selectIndexes(members, false)}
          />
        </div>
      </div>
    </>
  );
}

function describePoints(count: number, total: number): string {
  if (count >= total) return formatMemories(count);
  return `${formatNumber(count)} of ${formatMemories(total)}: the newest that have vectors`;
}

/** Returns the groups of the coloring, and the clusters, which have their names on the map. */
function useGroups({ clusters }: MapResponse, points: readonly MapPoint[], coloring: Coloring) {
  return useMemo(() => {
    const names = clusters.map(({ words }, i) => words.join(' · ') || `Cluster ${i + 1}`);
    const byCluster = groupByColor(points, 'cluster', names, Date.now());
    return {
      named: clusters.length === 0 ? [] : byCluster.filter(({ key }) => key.startsWith('=')),
      groups: coloring === 'cluster' ? byCluster : groupByColor(points, coloring, names, Date.now()),
    };
  }, [clusters, points, coloring]);
}

/** Returns the places that the map shows: all, or those of the chosen group. A map that was loaded again stays in place. */
function useAim(points: readonly MapPoint[], key: string | undefined, members: readonly number[] | undefined) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice moves the view
  return useMemo(() => ({ places: members?.map((index) => points[index] as MapPoint) ?? points }), [key]);
}

/** Returns the indexes of the selected points, and functions that change the selection. */
function useMarked(points: readonly MapPoint[], indexes: ReadonlyMap<string, number>) {
  const { selected, isSelected, select, toggle } = useSelection();
  const marked = useMemo(
    () =>
      selected.kind === 'all'
        ? new Set(points.flatMap((point, index) => (isSelected(point) ? index : [])))
        : new Set([...selected.ids].flatMap((id) => indexes.get(id) ?? [])),
    [selected, isSelected, points, indexes],
  );
  const getId = (index: number): string => (points[index] as MapPoint).id;
  return {
    marked,
    selectIndexes: (chosen: readonly number[], isAdding: boolean) => {
      const ids = chosen.map(getId);
      const before = selected.kind === 'ids' ? [...selected.ids] : [...marked].map(getId);
      select(isAdding ? [...before, ...ids] : ids);
    },
    toggle: (index: number) => toggle([points[index] as MapPoint], points),
  };
}

interface MapToolsProps {
  params: URLSearchParams;
  coloring: Coloring;
  isSelecting: boolean;
  onSelecting: (isSelecting: boolean) => void;
  hasSelection: boolean;
}

function MapTools({ params, coloring, isSelecting, onSelecting, hasSelection }: MapToolsProps) {
  const { clear } = useSelection();
  const [question, type, ask] = useDebouncedInput(
    params.get('light') ?? '',
    (light) => setParams({ light }),
    TYPING_DELAY_MS,
  );
  return (
    <form
      className="map-tools"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <input
        type="search"
        aria-label="Question whose results light up"
        placeholder="Ask, and the results light up"
        value={question}
        onInput={(event) => type(event.currentTarget.value)}
      />
      <label className="inline">
        Color
        <select
          value={coloring}
          onChange={(event) => setParams({ color: event.currentTarget.value, group: undefined })}
        >
          {COLORINGS.map((one) => (
            <option key={one} value={one}>
              {capitalize(one)}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        aria-pressed={isSelecting}
        onClick={() => onSelecting(!isSelecting)}
        title="Or drag with Shift"
      >
        Select by drawing
      </button>
      {hasSelection && (
        <button type="button" className="quiet" onClick={clear}>
          Clear selection
        </button>
      )}
    </form>
  );
}
