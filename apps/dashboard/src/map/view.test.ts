import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitAll, fitTo, getRadius, isInside, pan, resize, toPixel, toPlace, zoom } from './view.ts';

const size = { width: 800, height: 600 };
const coordinate = fc.double({ min: -1, max: 1, noNaN: true });
const place = fc.record({ x: coordinate, y: coordinate });
const pixel = fc.record({ x: fc.integer({ min: 0, max: 800 }), y: fc.integer({ min: 0, max: 600 }) });

describe('the view of a map', () => {
  it('shows the whole map in the window at first', () => {
    fc.assert(
      fc.property(place, (one) => {
        const { x, y } = toPixel(one, fitAll(size));
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x).toBeLessThanOrEqual(800);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(600);
      }),
    );
  });

  it('keeps the place below the pointer while zooming', () => {
    fc.assert(
      fc.property(pixel, fc.double({ min: 0.2, max: 5, noNaN: true }), (at, factor) => {
        const before = fitAll(size);
        const under = toPlace(at, before);
        const { x, y } = toPixel(under, zoom(before, factor, at, size));
        expect(x).toBeCloseTo(at.x, 6);
        expect(y).toBeCloseTo(at.y, 6);
      }),
    );
  });

  it('fits any places into the window', () => {
    fc.assert(
      fc.property(fc.array(place, { minLength: 1, maxLength: 20 }), (places) => {
        const view = fitTo(places, size);
        for (const one of places) {
          const { x, y } = toPixel(one, view);
          expect(x).toBeGreaterThan(-1);
          expect(x).toBeLessThan(801);
          expect(y).toBeGreaterThan(-1);
          expect(y).toBeLessThan(601);
        }
      }),
    );
  });

  it('keeps some of the map in the window, however far it is moved', () => {
    const far = pan(fitAll(size), { x: 1e6, y: -1e6 }, size);
    expect(toPixel({ x: -1, y: 1 }, far).x).toBeLessThanOrEqual(800);
    expect(toPixel({ x: -1, y: 1 }, far).y).toBeGreaterThanOrEqual(0);
  });

  it('keeps the place in the middle when the window changes its size', () => {
    const view = zoom(fitAll(size), 3, { x: 100, y: 200 }, size);
    const after = { width: 500, height: 300 };
    expect(toPlace({ x: 250, y: 150 }, resize(view, size, after))).toEqual(toPlace({ x: 400, y: 300 }, view));
  });

  it('makes dots smaller for more memories and in a smaller window, and larger when it is zoomed', () => {
    const whole = fitAll(size);
    const radius = getRadius(3000, whole, size);
    expect(getRadius(20_000, whole, size)).toBeLessThan(radius);
    const small = { width: 350, height: 400 };
    expect(getRadius(3000, fitAll(small), small)).toBeLessThan(radius);
    expect(getRadius(3000, zoom(whole, 4, { x: 0, y: 0 }, size), size)).toBeGreaterThan(radius);
  });
});

describe('an outline', () => {
  // A triangle with a dent.
  const outline = [
    { x: 0, y: 0 },
    { x: 4, y: 0 },
    { x: 2, y: 1 },
    { x: 0, y: 4 },
  ];

  it.each([
    [true, { x: 1, y: 0.5 }],
    [true, { x: 0.5, y: 3 }],
    [false, { x: 2.5, y: 1.5 }],
    [false, { x: -1, y: 1 }],
    [false, { x: 5, y: 0.5 }],
  ])('contains a place inside it only: %s for %o', (expected, one) => {
    expect(isInside(one, outline)).toBe(expected);
  });

  it('contains nothing if it has less than three places', () => {
    expect(isInside({ x: 0, y: 0 }, [])).toBe(false);
    expect(isInside({ x: 0, y: 0 }, [{ x: 0, y: 0 }])).toBe(false);
  });
});
