import { useRef, useState } from 'preact/compat';
import type { Range } from './periods.ts';

interface RangeChooserOptions {
  /** Number of periods. */
  count: number;
  /** Number of periods that the left and right, the up and down, and the page keys move by. */
  steps: { across: number; down: number; page: number };
  /** The period that the keys start from. */
  start: number;
  /** Receives the range, or undefined for none. */
  onChoose: (range: Range | undefined) => void;
}

const order = (a: number, b: number): Range => ({ first: Math.min(a, b), last: Math.max(a, b) });

/**
 * Chooses a range of periods by dragging or with keys: arrows move, Shift extends, Home and End go to the ends, Enter and
 * Space choose, Escape ends the choice.
 */
export function useRangeChooser({ count, steps, start, onChoose }: RangeChooserOptions) {
  const [cursor, setCursor] = useState<number>();
  /** The period under the pointer. */
  const [pointed, setPointed] = useState<number>();
  const [drawn, setDrawn] = useState<Range>();
  const anchor = useRef<number>(undefined);
  const isDragging = useRef(false);
  const clamp = (index: number) => Math.min(Math.max(index, 0), count - 1);
  const reach = (index: number, isExtending: boolean) => {
    const to = clamp(index);
    if (!isExtending) anchor.current = to;
    else anchor.current ??= cursor ?? to;
    setCursor(to);
    setDrawn(isExtending ? order(anchor.current, to) : undefined);
  };
  const end = () => {
    isDragging.current = false;
    anchor.current = undefined;
    setDrawn(undefined);
  };
  const choose = (range: Range | undefined) => {
    end();
    onChoose(range);
  };
  const chooseDrawn = () => {
    if (cursor !== undefined) choose(drawn ?? order(cursor, cursor));
  };
  /** Ends the range that is drawn, or else that is chosen. */
  const goBack = () => (drawn ? end() : choose(undefined));
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || count === 0) return;
    const target = getTarget(event.key, cursor ?? start, count, steps);
    // The first key shows where the cursor is.
    const isFirst = cursor === undefined && !isEnd(event.key);
    const actions: Record<string, () => void> = { Enter: chooseDrawn, ' ': chooseDrawn, Escape: goBack };
    if (target !== undefined) reach(isFirst ? start : target, event.shiftKey);
    else if (cursor !== undefined && Object.hasOwn(actions, event.key)) actions[event.key]?.();
    else return;
    event.preventDefault();
  };
  const startDrag = (index: number, isExtending: boolean) => {
    isDragging.current = true;
    reach(index, isExtending);
  };
  const drag = (index: number) => {
    setPointed(clamp(index));
    if (isDragging.current) reach(index, true);
  };
  const endDrag = () => {
    if (!isDragging.current) return;
    chooseDrawn();
    setCursor(undefined);
  };
  const leave = () => setPointed(undefined);
  const blur = () => {
    if (isDragging.current) return;
    end();
    setCursor(undefined);
  };
  const cancel = () => {
    end();
    setCursor(undefined);
    setPointed(undefined);
  };
  /** Chooses one period: for clicks that a screen reader makes, which have no pointer. */
  const chooseOne = (index: number) => choose(order(index, index));
  return { cursor, pointed, drawn, press, startDrag, drag, endDrag, leave, blur, cancel, chooseOne, focus: setCursor };
}

const isEnd = (key: string): boolean => key === 'Home' || key === 'End';

/** Returns the period that a key moves to, which may be outside of all; undefined for other keys. */
function getTarget(
  key: string,
  at: number,
  count: number,
  { across, down, page }: RangeChooserOptions['steps'],
): number | undefined {
  const moves: Record<string, number> = {
    ...{ ArrowLeft: at - across, ArrowRight: at + across, ArrowUp: at - down, ArrowDown: at + down },
    ...{ PageUp: at - page, PageDown: at + page, Home: 0, End: count - 1 },
  };
  return Object.hasOwn(moves, key) ? moves[key] : undefined;
}
