/* The part of chrono that is used, of which the build makes one file: its several hundred take long to find. */
export { de, en, es, fi, fr, it, ja, nl, type ParsedResult, pt, ru, sv, uk, zh } from 'chrono-node';
