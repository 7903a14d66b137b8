import { type ReactNode, useLayoutEffect, useRef } from 'preact/compat';
import { useKeys } from '../keys.ts';
import { useIsWide } from '../media.ts';
import { closeMemory } from '../route.ts';

/**
 * The place of the open memory: a column beside the view on wide screens, otherwise a sheet over the view. Takes the
 * focus when it opens, and returns it when it closes.
 */
export function Beside({ id, children }: { id: string; children: ReactNode }) {
  const isWide = useIsWide();
  const place = useRef<HTMLDivElement>(null);
  const opener = useRef(document.activeElement);
  useLayoutEffect(() => {
    const element = opener.current;
    return () => {
      if (element instanceof HTMLElement && element.isConnected) element.focus({ preventScroll: true });
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another memory takes the focus, too
  useLayoutEffect(() => {
    // A form with a draft has the focus already.
    if (!place.current?.querySelector('form :focus')) place.current?.focus({ preventScroll: true });
    place.current?.scrollTo(0, 0);
  }, [id]);
  useKeys({ Escape: closeMemory });
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles support it
    <div ref={place} className="beside" role={isWide ? 'complementary' : 'main'} aria-label="Open memory" tabIndex={-1}>
      <button type="button" className="icon beside-close" aria-label="Close" title="Close (Esc)" onClick={closeMemory}>
        ×
      </button>
      {children}
    </div>
  );
}
