import type { MapPoint, Memory } from '@memoryd/client';
import { useCallback, useEffect, useState } from 'preact/compat';
import { formatDateTime } from '../format.ts';
import { MemoryLine } from '../panel/memory-line.tsx';
import { Failure } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import type { Pointed } from './map-canvas.tsx';

/** Delay before the text of the memory under the pointer is requested. */
const POINT_DELAY_MS = 120;
/** Texts that stay in memory, the first ones are dropped. */
const MAX_TEXTS = 500;
/** Memories of a list that are shown at first and added on request. */
const PAGE_TEXTS = 10;

/** A memory with its text. */
type Text = Pick<Memory, 'id' | 'content' | 'created_at'>;

/** Returns the text of a memory. */
export type LoadText = (memory: Memories, id: string, signal: AbortSignal) => Promise<Text>;

/** Returns a function that loads a text once, until the map is loaded again. */
export function useTexts(map: unknown): LoadText {
  // biome-ignore lint/correctness/useExhaustiveDependencies: texts may have changed before a new map
  return useCallback(createCache(), [map]);
}

function createCache(): LoadText {
  const texts = new Map<string, Text>();
  return async (memory, id, signal) => {
    const known = texts.get(id);
    if (known) return known;
    const text = await memory.memory(id, { signal });
    const [first] = texts.keys();
    if (texts.size >= MAX_TEXTS && first !== undefined) texts.delete(first);
    texts.set(id, text);
    return text;
  };
}

interface PointedTextProps {
  pointed: Pointed;
  point: MapPoint;
  score: number | undefined;
  loadText: LoadText;
}

/** The text of the memory under the pointer, above or below it. */
export function PointedText({ pointed: { at, size }, point, score, loadText }: PointedTextProps) {
  const [id, setId] = useState<string>();
  useEffect(() => {
    const timer = setTimeout(() => setId(point.id), POINT_DELAY_MS);
    return () => clearTimeout(timer);
  }, [point.id]);
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => loadText(memory, point.id, signal),
    [loadText, point.id],
  );
  const { value, error } = useResource(id === point.id ? load : undefined);
  const text = error === undefined ? (value?.id === point.id ? value.content : '…') : 'The text could not be loaded.';
  const width = Math.min(TEXT_WIDTH_PX, size.width - 2 * EDGE_PX);
  const left = Math.min(Math.max(at.x - width / 2, EDGE_PX), size.width - width - EDGE_PX);
  const isBelow = at.y < size.height / 2;
  return (
    <div
      className={isBelow ? 'map-text map-text-below' : 'map-text'}
      role="status"
      style={{ width: `${width}px`, transform: `translate(${left}px, ${at.y}px)` }}
    >
      <div>
        <p className="clamped" dir="auto">
          {text}
        </p>
        <p className="soft">
          {formatDateTime(point.created_at)}
          {point.tag !== undefined && ` · ${point.tag}`}
          {score !== undefined && ` · score ${score.toFixed(2)}`}
        </p>
      </div>
    </div>
  );
}

const TEXT_WIDTH_PX = 288;
const EDGE_PX = 8;

/** The texts of memories, a few at first and more on request. */
export function TextList({ ids, loadText }: { ids: readonly string[]; loadText: LoadText }) {
  const [count, setCount] = useState(PAGE_TEXTS);
  return (
    <>
      <ol className="map-texts">
        {ids.slice(0, count).map((id) => (
          <TextLine key={id} id={id} loadText={loadText} />
        ))}
      </ol>
      {ids.length > count && (
        <button type="button" className="quiet" onClick={() => setCount(count + PAGE_TEXTS)}>
          Show {Math.min(PAGE_TEXTS, ids.length - count)} more
        </button>
      )}
    </>
  );
}

function TextLine({ id, loadText }: { id: string; loadText: LoadText }) {
  const load = useCallback((memory: Memories, signal: AbortSignal) => loadText(memory, id, signal), [loadText, id]);
  const { value, error, reload } = useResource(load);
  if (value) return <MemoryLine memory={value} />;
  return <li>{error === undefined ? <span className="soft">…</span> : <Failure error={error} onRetry={reload} />}</li>;
}
