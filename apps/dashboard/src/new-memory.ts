import { createStore } from './store.ts';

const EMPTY = { content: '', session: '', tags: '' };

/** The typed fields of a new memory. They stay until it is stored, or until the API key changes. */
export const newMemory = createStore(EMPTY);

export const clearNewMemory = (): void => newMemory.set(EMPTY);
