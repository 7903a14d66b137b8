import type { Distiller } from '../ports/distiller.ts';
import { EXTRACTIVE, extract } from './extract.ts';

/** A distiller that quotes sentences of its sources and uses no model. */
export const extractive: Distiller = {
  name: EXTRACTIVE,
  quotes: true,
  async distil(group, signal) {
    signal.throwIfAborted();
    return extract(group);
  },
};
