import type { MapPoint } from '@memoryd/client';
import { type RefObject, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/compat';
import type { Group } from './coloring.ts';
import { drawMarks, drawScene } from './draw.ts';
import { useGestures } from './gestures.ts';
import { createLabels, placeLabels } from './labels.ts';
import { findNearest } from './nearest.ts';
import {
  fitAll,
  fitTo,
  getRadius,
  isInside,
  type Place,
  pan,
  resize,
  type Size,
  toPixel,
  toPlace,
  type View,
  zoom,
} from './view.ts';

/** Shows places as large as they can be. Each new object moves the view. */
export interface Aim {
  places: readonly Place[];
}

/** A memory that is pointed at, and its pixel. */
export interface Pointed {
  index: number;
  at: Place;
  size: Size;
}

interface MapCanvasProps {
  points: readonly MapPoint[];
  groups: readonly Group[];
  /** The groups whose names the map shows. */
  named: readonly Group[];
  /** Key of the group that is shown alone. */
  chosen: string | undefined;
  lit: ReadonlyMap<number, number> | undefined;
  selected: ReadonlySet<number>;
  open: number | undefined;
  /** Whether dragging draws an outline that selects, instead of moving the map. */
  isSelecting: boolean;
  aim: Aim;
  theme: string;
  onPoint: (pointed: Pointed | undefined) => void;
  onOpen: (index: number) => void;
  onSelect: (indexes: readonly number[], isAdding: boolean) => void;
  onToggle: (index: number) => void;
}

/** Distance in pixels from which a memory counts as pointed at. */
const NEAR_PX = 14;
const KEY_ZOOM = 1.4;
const KEY_PAN_PX = 40;
/** Views that the keys of the map lead to. */
const MOVES: Readonly<Record<string, (view: View, size: Size, all: readonly Place[]) => View>> = {
  '+': (view, size) => zoom(view, KEY_ZOOM, getMiddle(size), size),
  '-': (view, size) => zoom(view, 1 / KEY_ZOOM, getMiddle(size), size),
  0: (_view, size, all) => fitTo(all, size),
  ArrowLeft: (view, size) => pan(view, { x: KEY_PAN_PX, y: 0 }, size),
  ArrowRight: (view, size) => pan(view, { x: -KEY_PAN_PX, y: 0 }, size),
  ArrowUp: (view, size) => pan(view, { x: 0, y: KEY_PAN_PX }, size),
  ArrowDown: (view, size) => pan(view, { x: 0, y: -KEY_PAN_PX }, size),
};

const KEYS =
  'Arrow keys move the map and point at the memory next to its middle, Enter opens that memory, x selects it, plus and minus ' +
  'zoom, 0 shows all. The list of groups has the same memories.';

/**
 * Draws the map. Dragging moves it, the wheel, two fingers and `+` `-` zoom, a click opens the nearest memory. With
 * Shift, dragging selects.
 */
export function MapCanvas(props: MapCanvasProps) {
  const { points, groups, named, chosen, lit, selected, open, isSelecting, aim, theme } = props;
  const frame = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const { size, view, setView } = useView(frame, aim);
  const [pointed, setPointed] = useState<number>();
  const { colors, labels } = useTheme(groups, named, points, theme);
  const radius = getRadius(points.length, view, size);

  const find = (at: Place, from: View, isNear: (found: Place) => boolean): number | undefined => {
    if (points.length === 0) return undefined;
    const index = findNearest(points, toPlace(at, from));
    return isNear(toPixel(points[index] as MapPoint, from)) ? index : undefined;
  };
  const findAt = (at: Place) => find(at, view, ({ x, y }) => Math.hypot(x - at.x, y - at.y) <= NEAR_PX);
  const point = (index: number | undefined, from = view) => {
    setPointed(index);
    props.onPoint(index === undefined ? undefined : { index, at: toPixel(points[index] as MapPoint, from), size });
  };
  const { handlers, outline } = useGestures(above, {
    ...{ view, setView, size, isSelecting },
    onPoint: (at) => point(at && findAt(at)),
    onClick: (at) => {
      const index = findAt(at);
      if (index !== undefined) props.onOpen(index);
    },
    onOutline: (drawn, isAdding) =>
      props.onSelect(
        points.flatMap((place, index) => (isInside(place, drawn) ? [index] : [])),
        isAdding,
      ),
  });
  const moveBy = (key: string, isPointing: boolean) => {
    const next = MOVES[key]?.(view, size, points) ?? view;
    setView(next);
    if (isPointing)
      point(
        find(getMiddle(size), next, (found) => isVisible(found, size)),
        next,
      );
  };
  const pressKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (Object.hasOwn(MOVES, event.key)) moveBy(event.key, true);
    else if (pointed === undefined) return;
    else if (event.key === 'Enter') props.onOpen(pointed);
    else if (event.key === 'x') props.onToggle(pointed);
    else return;
    event.preventDefault();
  };

  const { byGroup, ink, ground } = colors;
  useDrawing(
    below,
    size,
    useCallback(
      (context) =>
        drawScene(
          context,
          { places: points, groups, colors: byGroup, lit, chosen, selected, ground },
          view,
          size,
          radius,
        ),
      [points, groups, byGroup, lit, chosen, selected, ground, view, size, radius],
    ),
  );
  useDrawing(
    above,
    size,
    useCallback(
      (context) => drawMarks(context, { places: points, pointed, open, outline, ink, ground }, view, size, radius),
      [points, pointed, open, outline, ink, ground, view, size, radius],
    ),
  );
  return (
    <div className="map-frame" ref={frame}>
      <canvas ref={below} className="map-canvas" />
      <div
        className="map-keys"
        role="application"
        aria-label={`Map of the memories. ${KEYS}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: its keys move the map
        tabIndex={0}
        onKeyDown={pressKey}
        onBlur={() => point(undefined)}
      >
        <canvas ref={above} className={isSelecting ? 'map-canvas map-selecting' : 'map-canvas'} {...handlers} />
      </div>
      {placeLabels(labels, view, size).map(({ text, x, y }) => (
        <span key={text} className="map-label" aria-hidden="true" style={{ transform: `translate(${x}px, ${y}px)` }}>
          <span>{text}</span>
        </span>
      ))}
      <fieldset className="map-zoom" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => moveBy('+', false)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => moveBy('-', false)}>
          −
        </button>
        <button type="button" title="Show the whole map (0)" onClick={() => moveBy('0', false)}>
          All
        </button>
      </fieldset>
    </div>
  );
}

const isVisible = ({ x, y }: Place, { width, height }: Size) => x >= 0 && y >= 0 && x <= width && y <= height;
const getMiddle = ({ width, height }: Size): Place => ({ x: width / 2, y: height / 2 });

/** Returns the size of an element and the view of the map in it, which a new aim moves and a new size does not. */
function useView(frame: RefObject<HTMLElement | null>, aim: Aim) {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [view, setView] = useState<View>(fitAll(size));
  const shown = useRef<{ aim: Aim | undefined; size: Size }>({ aim: undefined, size });
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame]);
  useLayoutEffect(() => {
    if (size.width === 0) return;
    const before = shown.current;
    shown.current = { aim, size };
    setView((earlier) => (before.aim === aim ? resize(earlier, before.size, size) : fitTo(aim.places, size)));
  }, [aim, size]);
  return { size, view, setView };
}

/** Returns the colors of the current theme, and the names of the groups with the widths that they have on the page. */
function useTheme(groups: readonly Group[], named: readonly Group[], points: readonly MapPoint[], theme: string) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the theme changes the colors
  const colors = useMemo(() => {
    const byGroup = groups.map(({ color }) => getColor(color));
    return { byGroup, ink: getColor('--ink'), ground: getColor('--surface') };
  }, [groups, theme]);
  const labels = useMemo(() => {
    const context = document.createElement('canvas').getContext('2d');
    if (!context) return [];
    context.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    return createLabels(named, points, (text) => context.measureText(text).width);
  }, [named, points]);
  return { colors, labels };
}

/** Returns the color of a CSS custom property in the current theme, in a form that the canvas takes. */
function getColor(property: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${property})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Draws before the next frame whenever the function changes, as sharp as the screen is. */
function useDrawing(
  canvas: RefObject<HTMLCanvasElement | null>,
  { width, height }: Size,
  drawOn: (context: CanvasRenderingContext2D) => void,
): void {
  useLayoutEffect(() => {
    const request = requestAnimationFrame(() => {
      const element = canvas.current;
      const context = element?.getContext('2d');
      if (!element || !context || width === 0) return;
      const [columns, rows] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
      if (element.width !== columns) element.width = columns;
      if (element.height !== rows) element.height = rows;
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      drawOn(context);
    });
    return () => cancelAnimationFrame(request);
  }, [canvas, width, height, drawOn]);
}
