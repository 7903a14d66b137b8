import { type ComponentType, lazy } from 'preact/compat';
import { SERVICE_URL } from './service.tsx';

type Views = typeof import('./views.ts');

/** Delay before a script that could not be loaded is requested again. */
const RETRY_DELAY_MS = 3000;

/** Delay after which the script of the views is loaded, so that views open at once, and also during an outage. */
const IDLE_DELAY_MS = 1500;

const load = (): Promise<Views> => import('./views.ts');

/**
 * Returns a component of `views.ts`, whose script is loaded when one of its components is first rendered. While the
 * service is unreachable, the script is requested again and again.
 */
export function lazyView<Name extends keyof Views>(name: Name): Views[Name] {
  // `lazy` passes all properties on, so the component has those of the view.
  return lazy(async () => ({ default: (await loadUntilReachable())[name] as ComponentType })) as unknown as Views[Name];
}

async function loadUntilReachable(): Promise<Views> {
  for (;;) {
    try {
      return await load();
    } catch (error) {
      // A service that responds does not have the script: another version has replaced it.
      if (await isReachable()) return load().catch(() => Promise.reject(error));
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
  }
}

const isReachable = (): Promise<boolean> =>
  fetch(`${SERVICE_URL}/health`).then(
    () => true,
    () => false,
  );

/** Loads the views once the page has had time for its first view. Returns a function that cancels. */
export function loadViewsWhenIdle(): () => void {
  const timer = setTimeout(() => load().catch(() => undefined), IDLE_DELAY_MS);
  return () => clearTimeout(timer);
}
