import { MemoryClient, MemoryError } from '@memoryd/client';
import { AdministrationClient } from '@memoryd/client/administration';
import { useMemo } from 'preact/compat';
import { SERVICE_URL, useService } from '../service.tsx';

/** Returns the clients for operators, with the API key of the page. They have no scope. */
export function useAdministration(): { administration: AdministrationClient; client: MemoryClient } {
  const { apiKey } = useService();
  return useMemo(() => {
    // Few retries, because the user is waiting and can retry.
    const options = { url: SERVICE_URL, retries: 2, ...(apiKey !== undefined && { apiKey }) };
    return { administration: new AdministrationClient(options), client: new MemoryClient(options) };
  }, [apiKey]);
}

/** Returns whether the API key of the page may not do something. */
export const isForbidden = (error: unknown): boolean => error instanceof MemoryError && error.code === 'FORBIDDEN';
