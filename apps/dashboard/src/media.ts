import { useCallback, useSyncExternalStore } from 'preact/compat';

/** Returns whether a media query matches, and rerenders the component when that changes. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (onChange: () => void) => {
      const media = matchMedia(query);
      media.addEventListener('change', onChange);
      return () => media.removeEventListener('change', onChange);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}

/** Returns whether the open memory has room beside the view. On narrower screens it covers the view. */
export const useIsWide = (): boolean => useMedia('(min-width: 75rem)');
