/** A point on the map, whose coordinates are from -1 to 1, or on the canvas, in pixels. */
export interface Place {
  x: number;
  y: number;
}

/** The part of the map that the canvas shows: pixels of one unit of the map, and the pixel of the map's center. */
export interface View {
  scale: number;
  center: Place;
}

export interface Size {
  width: number;
  height: number;
}

/** Zoom at which the map is no longer recognized, and at which 20,000 memories are far apart. */
const [MIN_ZOOM, MAX_ZOOM] = [0.5, 60];

/** Pixels left free at the edge. */
const MARGIN = 24;

/** Returns the view that shows the whole map. */
export function fitAll({ width, height }: Size): View {
  return { scale: getFittingScale({ width, height }), center: { x: width / 2, y: height / 2 } };
}

function getFittingScale({ width, height }: Size): number {
  return Math.max(1, Math.min(width, height) / 2 - MARGIN);
}

/** Returns the view that shows all given places as large as it can. Without places, the whole map. */
export function fitTo(places: readonly Place[], size: Size): View {
  if (places.length === 0) return fitAll(size);
  const xs = places.map(({ x }) => x);
  const ys = places.map(({ y }) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = (length: number, span: number) => Math.max(1, length - 2 * MARGIN) / Math.max(span, Number.EPSILON);
  const scale = limit(Math.min(room(size.width, right - left), room(size.height, bottom - top)), size);
  return {
    scale,
    center: { x: size.width / 2 - (scale * (left + right)) / 2, y: size.height / 2 - (scale * (top + bottom)) / 2 },
  };
}

const limit = (scale: number, size: Size): number => {
  const whole = getFittingScale(size);
  return Math.min(Math.max(scale, MIN_ZOOM * whole), MAX_ZOOM * whole);
};

/** Radius of a dot on the whole map, in pixels, and its maximum. */
const [MIN_RADIUS_PX, MAX_RADIUS_PX] = [1.6, 6];
const RADIUS_PX = 3;
/** Places and shorter side of a window from which dots are smaller, so that they cover each other less. */
const [MANY, SMALL_PX] = [3000, 500];

/** Returns the radius of a dot, in pixels: the larger the map is shown, the larger. */
export function getRadius(count: number, { scale }: View, size: Size): number {
  const fitting = getFittingScale(size);
  const crowd = (Math.max(1, count / MANY) * Math.max(1, SMALL_PX / (2 * fitting)) ** 2) ** 0.25;
  const radius = (RADIUS_PX / crowd) * Math.max(1, scale / fitting) ** 0.4;
  return Math.min(MAX_RADIUS_PX, Math.max(MIN_RADIUS_PX, radius));
}

/** Returns the view after the window has changed its size: the same place stays in the middle. */
export function resize({ scale, center }: View, before: Size, after: Size): View {
  return {
    scale,
    center: { x: center.x + (after.width - before.width) / 2, y: center.y + (after.height - before.height) / 2 },
  };
}

/** Returns the pixel of a place of the map. */
export function toPixel({ x, y }: Place, { scale, center }: View): Place {
  return { x: center.x + x * scale, y: center.y + y * scale };
}

/** Returns the place of the map at a pixel. */
export function toPlace({ x, y }: Place, { scale, center }: View): Place {
  return { x: (x - center.x) / scale, y: (y - center.y) / scale };
}

/** Returns the view after zooming by a factor, so that the place at a pixel stays there. */
export function zoom(view: View, factor: number, at: Place, size: Size): View {
  const scale = limit(view.scale * factor, size);
  const fixed = toPlace(at, view);
  return { scale, center: { x: at.x - fixed.x * scale, y: at.y - fixed.y * scale } };
}

/** Returns the view after moving by pixels. Some of the map stays in the window. */
export function pan({ scale, center }: View, by: Place, { width, height }: Size): View {
  const within = (value: number, length: number) => Math.min(Math.max(value, -scale + MARGIN), length + scale - MARGIN);
  return { scale, center: { x: within(center.x + by.x, width), y: within(center.y + by.y, height) } };
}

/** Returns whether a place is inside an outline, by the even-odd rule. */
export function isInside({ x, y }: Place, outline: readonly Place[]): boolean {
  let inside = false;
  outline.forEach((to, i) => {
    const from = outline.at(i - 1) as Place;
    if (to.y > y !== from.y > y && x < ((from.x - to.x) * (y - to.y)) / (from.y - to.y) + to.x) inside = !inside;
  });
  return inside;
}
