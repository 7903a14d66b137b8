import type { ApiKeyWithSecret } from '@memoryd/client';
import { createStore } from '../store.ts';

/**
 * The key that was just created. Stored outside of the views, because the first key of a service ends access without a
 * key: the page signs in again, and its views are mounted again.
 */
export const newKey = createStore<ApiKeyWithSecret | undefined>(undefined);
