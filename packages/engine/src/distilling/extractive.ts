import { EXTRACTIVE, extract } from '../core/distil/extract.ts';
import type { Distiller } from '../ports/distiller.ts';

/** A distiller without a model, which quotes its sources. */
export const extractive: Distiller = {
  name: EXTRACTIVE,
  quotes: true,
  async distil(group, signal) {
    signal.throwIfAborted();
    return extract(group);
  },
};
