import type { StoreRequest } from '@memoryd/client';
import { useRef } from 'preact/compat';
import { useService } from './service.tsx';

/**
 * Returns a function that stores a memory and returns its id. A repeated attempt with the same request stores one memory,
 * also if the first response was lost.
 */
export function useStore(): (request: Omit<StoreRequest, 'source'>) => Promise<string> {
  const { memory } = useService();
  const attempt = useRef({ text: '', idempotencyKey: '' });
  return async (request) => {
    const text = JSON.stringify(request);
    if (attempt.current.text !== text) attempt.current = { text, idempotencyKey: `${Date.now()}.${Math.random()}` };
    const { id } = await memory.store(
      { ...request, source: 'dashboard' },
      { idempotencyKey: attempt.current.idempotencyKey },
    );
    attempt.current.text = '';
    return id;
  };
}
