import { useEffect, useState } from 'preact/compat';
import { useService } from './service.tsx';

/**
 * Returns a function that carries out an action of a person, one at a time, and the state of the action. An error is
 * shown until the next attempt.
 *
 * @param act sends the requests
 * @param onDone receives the result, unless the component was unmounted meanwhile, such as by navigation
 */
export function useAction<Args extends unknown[], Result>(
  act: (...args: Args) => Promise<Result>,
  onDone?: (result: Result) => void,
) {
  const { handleAuthError } = useService();
  const [state, setState] = useState<{ isBusy: boolean; error: unknown }>({ isBusy: false, error: undefined });
  const [lock] = useState({ isBusy: false, isMounted: true });
  useEffect(() => {
    lock.isMounted = true;
    return () => {
      lock.isMounted = false;
    };
  }, [lock]);
  const run = async (...args: Args): Promise<void> => {
    if (lock.isBusy) return;
    lock.isBusy = true;
    setState({ isBusy: true, error: undefined });
    try {
      const result = await act(...args);
      setState({ isBusy: false, error: undefined });
      if (lock.isMounted) onDone?.(result);
    } catch (error) {
      handleAuthError(error);
      setState({ isBusy: false, error });
    } finally {
      lock.isBusy = false;
    }
  };
  return { ...state, run };
}
