export { loadModel } from './model.ts';
export { PART_TOKENS } from './tokens.ts';
