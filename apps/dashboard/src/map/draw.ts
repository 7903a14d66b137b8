import type { Group } from './coloring.ts';
import { type Place, type Size, toPixel, type View } from './view.ts';

/** The memories that are drawn. */
export interface Scene {
  places: readonly Place[];
  groups: readonly Group[];
  /** Colors of the groups, as the canvas takes them. */
  colors: readonly string[];
  /** Scores by the index of a place, from 0 to 1; undefined without a question. */
  lit: ReadonlyMap<number, number> | undefined;
  /** Key of the group that is shown alone; undefined if all are shown. */
  chosen: string | undefined;
  /** Indexes of the selected places. If there are any, all others are dimmed. */
  selected: ReadonlySet<number>;
  /** Color of the rims of results. */
  ground: string;
}

/** The marks over the memories. */
export interface Marks {
  places: readonly Place[];
  pointed: number | undefined;
  open: number | undefined;
  outline: readonly Place[];
  ink: string;
  ground: string;
}

const LIT_RADIUS_PX = 5;
const OPACITY = 0.8;
const DIMMED = 0.16;
const TURN = 2 * Math.PI;

/**
 * Draws the memories. A context is scaled so that one unit is one pixel of the page.
 *
 * @param radius radius of a dot, in pixels
 */
export function drawScene(context: CanvasRenderingContext2D, scene: Scene, view: View, size: Size, radius: number) {
  const { groups, lit, chosen, selected } = scene;
  const getOpacity = (key: string, index: number): number => {
    if (selected.size > 0) return selected.has(index) ? 1 : DIMMED;
    return lit || (chosen !== undefined && chosen !== key) ? DIMMED : OPACITY;
  };
  const image = context.createImageData(context.canvas.width, context.canvas.height);
  const ratio = context.getTransform().a;
  const dot = createDot(radius * ratio);
  // The most frequent groups are on top.
  for (const [i, { key, points }] of [...groups.entries()].reverse()) {
    const color = (scene.colors[i]?.match(/[\d.]+/g) ?? []).map(Number);
    for (const index of points) {
      const { x, y } = scene.places[index] as Place;
      const column = Math.round((x * view.scale + view.center.x) * ratio);
      const row = Math.round((y * view.scale + view.center.y) * ratio);
      stamp(image, dot, column, row, color, getOpacity(key, index));
    }
  }
  context.putImageData(image, 0, 0);
  if (lit) drawLit(context, scene, lit, view, size, radius);
}

/** The share of each pixel that a dot covers, in a square around its middle pixel. */
interface Dot {
  half: number;
  covered: Float32Array;
}

function createDot(radius: number): Dot {
  const half = Math.ceil(radius);
  const side = 2 * half + 1;
  const covered = Float32Array.from({ length: side * side }, (_, i) => {
    const distance = Math.hypot((i % side) - half, Math.floor(i / side) - half);
    return Math.min(1, Math.max(0, radius + 0.5 - distance));
  });
  return { half, covered };
}

/**
 * Draws a dot over an image (Porter and Duff 1984, "over"). Circles of the canvas, or copies of a picture of one, take several
 * times as long for 20,000 dots.
 */
function stamp(image: ImageData, dot: Dot, column: number, row: number, color: number[], opacity: number): void {
  const { data, width, height } = image;
  const { half, covered } = dot;
  const side = 2 * half + 1;
  const [red = 0, green = 0, blue = 0] = color;
  const [left, right] = [Math.max(0, column - half), Math.min(width - 1, column + half)];
  for (let y = Math.max(0, row - half); y <= Math.min(height - 1, row + half); y++) {
    const from = (y - row + half) * side - column + half;
    for (let x = left; x <= right; x++) {
      const alpha = opacity * (covered[from + x] as number);
      const at = 4 * (y * width + x);
      const below = ((data[at + 3] as number) / 255) * (1 - alpha);
      const total = alpha + below;
      if (alpha === 0) continue;
      data[at] = (red * alpha + (data[at] as number) * below) / total;
      data[at + 1] = (green * alpha + (data[at + 1] as number) * below) / total;
      data[at + 2] = (blue * alpha + (data[at + 2] as number) * below) / total;
      data[at + 3] = 255 * total;
    }
  }
}

/** Draws the results of a question over the dimmed memories, the best last: the higher the score, the larger. */
function drawLit(
  context: CanvasRenderingContext2D,
  { places, groups, colors, ground }: Scene,
  lit: ReadonlyMap<number, number>,
  view: View,
  size: Size,
  radius: number,
): void {
  const colorByIndex = new Map(
    groups.flatMap(({ points }, i) => points.flatMap((index) => (lit.has(index) ? [[index, colors[i]] as const] : []))),
  );
  context.strokeStyle = ground;
  context.lineWidth = 1.5;
  for (const [index, score] of [...lit].sort(([, a], [, b]) => a - b)) {
    context.fillStyle = colorByIndex.get(index) ?? '';
    context.globalAlpha = 0.45 + 0.55 * score;
    context.beginPath();
    addDot(context, toPixel(places[index] as Place, view), radius + LIT_RADIUS_PX * score ** 2, size);
    context.fill();
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Draws the memory that is pointed at, the open one, and the outline of a selection by drawing. */
export function drawMarks(context: CanvasRenderingContext2D, marks: Marks, view: View, size: Size, radius: number) {
  const { places, pointed, open, ink, ground } = marks;
  context.clearRect(0, 0, size.width, size.height);
  for (const index of new Set([open, pointed])) {
    const place = index === undefined ? undefined : places[index];
    if (!place) continue;
    context.beginPath();
    addDot(context, toPixel(place, view), radius + 3, size);
    // A wide rim in the color of the ground, so that the ring is visible on dots of any color.
    for (const [color, width] of [
      [ground, 4.5],
      [ink, 2],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
    }
  }
  drawOutline(context, marks, view);
}

function isVisible(x: number, y: number, radius: number, { width, height }: Size): boolean {
  return x >= -radius && y >= -radius && x <= width + radius && y <= height + radius;
}

function addDot(context: CanvasRenderingContext2D, { x, y }: Place, radius: number, size: Size): void {
  if (!isVisible(x, y, radius, size)) return;
  context.moveTo(x + radius, y);
  context.arc(x, y, radius, 0, TURN);
}

function drawOutline(context: CanvasRenderingContext2D, { outline, ink }: Marks, view: View): void {
  if (outline.length < 2) return;
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 1.5;
  context.setLineDash([5, 4]);
  context.beginPath();
  for (const place of outline) {
    const { x, y } = toPixel(place, view);
    context.lineTo(x, y);
  }
  context.closePath();
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 0.06;
  context.fill();
  context.globalAlpha = 1;
}
