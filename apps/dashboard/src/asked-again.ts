import { createStore } from './store.ts';

/** Number of times that the question of the Recall view was asked again without a change. */
export const askedAgain = createStore(0);

/** Asks the question of the Recall view again: new memories do not change its results by themselves. */
export const askAgain = (): void => askedAgain.set(askedAgain.get() + 1);
