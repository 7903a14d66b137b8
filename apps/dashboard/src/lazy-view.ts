import { type ComponentType, createElement, lazy, useState } from 'preact/compat';
import { SERVICE_URL } from './service.tsx';

type Views = typeof import('./views.ts');

/** Delay before a script that could not be loaded is requested again. */
const RETRY_DELAY_MS = 3000;

/** Delay after which the script of the views is loaded, so that views open at once, and also during an outage. */
const IDLE_DELAY_MS = 1500;

/** The views, once their script is loaded. */
let views: Views | undefined;

const load = async (): Promise<Views> => (views = await import('./views.ts'));

/**
 * Returns a component of `views.ts`, whose script is loaded when one of its components is first rendered. While the
 * service is unreachable, the script is requested again and again. Afterwards, components are rendered at once, so that
 * the next key reaches them.
 */
export function lazyView<Name extends keyof Views>(name: Name): Views[Name] {
  const Lazy = lazy(async () => ({ default: (await loadUntilReachable())[name] as ComponentType }));
  // The view gets all properties.
  return ((properties: object) => createElement(View, { name, Lazy, properties })) as unknown as Views[Name];
}

interface ViewProps {
  name: keyof Views;
  Lazy: ComponentType;
  properties: object;
}

function View({ name, Lazy, properties }: ViewProps) {
  // The same as long as the component is mounted.
  const [Shown] = useState(() => (views?.[name] as ComponentType | undefined) ?? Lazy);
  return createElement(Shown, properties);
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
