import { type Dispatch, type RefObject, type SetStateAction, useEffect, useRef, useState } from 'preact/compat';
import { type Place, pan, type Size, toPlace, type View, zoom } from './view.ts';

/** Movement in pixels that makes a click a drag. */
const DRAG_PX = 4;
const WHEEL_ZOOM = 0.0018;
/** Pixels of a line, for mice that turn the wheel by lines. */
const LINE_PX = 16;

interface Drag {
  from: Place;
  last: Place;
  hasMoved: boolean;
  isDrawing: boolean;
}

interface GesturesOptions {
  view: View;
  setView: Dispatch<SetStateAction<View>>;
  size: Size;
  /** Whether a drag draws an outline. With Shift, it always does. */
  isSelecting: boolean;
  /** Called with the pixel that the pointer is over; undefined if it is elsewhere. */
  onPoint: (at: Place | undefined) => void;
  onClick: (at: Place) => void;
  /** Called with the places of an outline that was drawn. */
  onOutline: (outline: readonly Place[], isAdding: boolean) => void;
}

/**
 * Handles the pointers on the map. One pointer moves the map, or draws an outline; two zoom and move it; the wheel zooms.
 * Returns the handlers for the canvas, and the outline that is being drawn.
 */
export function useGestures(canvas: RefObject<HTMLCanvasElement | null>, options: GesturesOptions) {
  const { view, setView, size, isSelecting, onPoint, onClick, onOutline } = options;
  const [outline, setOutline] = useState<readonly Place[]>([]);
  const pointers = useRef(new Map<number, Place>());
  const drag = useRef<Drag>(undefined);

  const press = (event: PointerEvent) => {
    if (event.button !== 0 || pointers.current.size >= 2) return;
    canvas.current?.setPointerCapture(event.pointerId);
    const at = getPixel(event);
    pointers.current.set(event.pointerId, at);
    onPoint(undefined);
    setOutline([]);
    drag.current =
      pointers.current.size === 1
        ? { from: at, last: at, hasMoved: false, isDrawing: isSelecting || event.shiftKey }
        : undefined;
  };
  const move = (event: PointerEvent) => {
    const at = getPixel(event);
    const before = pointers.current.get(event.pointerId);
    if (!before) return onPoint(event.pointerType === 'touch' ? undefined : at);
    pointers.current.set(event.pointerId, at);
    const [other] = [...pointers.current].flatMap(([id, place]) => (id === event.pointerId ? [] : [place]));
    if (other) pinch(before, at, other);
    else if (drag.current) dragTo(drag.current, at);
  };
  const pinch = (before: Place, at: Place, other: Place) => {
    const getDistance = (place: Place) => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
    const middle = { x: (before.x + other.x) / 2, y: (before.y + other.y) / 2 };
    const by = { x: (at.x - before.x) / 2, y: (at.y - before.y) / 2 };
    setView((earlier) => pan(zoom(earlier, getDistance(at) / getDistance(before), middle, size), by, size));
  };
  const dragTo = (one: Drag, at: Place) => {
    const { from, last } = one;
    if (Math.hypot(at.x - from.x, at.y - from.y) >= DRAG_PX) one.hasMoved = true;
    if (!one.hasMoved) return;
    one.last = at;
    if (one.isDrawing) {
      setOutline((before) => [...(before.length === 0 ? [toPlace(from, view)] : before), toPlace(at, view)]);
    } else setView((before) => pan(before, { x: at.x - last.x, y: at.y - last.y }, size));
  };
  const release = (event: PointerEvent) => {
    if (!pointers.current.delete(event.pointerId)) return;
    const ended = drag.current;
    drag.current = undefined;
    if (ended && !ended.hasMoved) onClick(getPixel(event));
    else if (outline.length > 2) onOutline(outline, event.shiftKey);
    setOutline([]);
  };
  const cancel = (event: PointerEvent) => {
    pointers.current.delete(event.pointerId);
    drag.current = undefined;
    setOutline([]);
    onPoint(undefined);
  };

  // Preact listens to the wheel passively, so that it cannot keep the page from scrolling.
  useEffect(() => {
    const element = canvas.current;
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * LINE_PX : event.deltaY;
      setView((before) => zoom(before, Math.exp(-pixels * WHEEL_ZOOM), getPixel(event), size));
    };
    element?.addEventListener('wheel', turn, { passive: false });
    return () => element?.removeEventListener('wheel', turn);
  }, [canvas, setView, size]);

  const handlers = {
    onPointerDown: press,
    onPointerMove: move,
    onPointerUp: release,
    onPointerCancel: cancel,
    onPointerLeave: () => pointers.current.size === 0 && onPoint(undefined),
  };
  return { handlers, outline };
}

const getPixel = ({ offsetX, offsetY }: MouseEvent): Place => ({ x: offsetX, y: offsetY });
