import { type ComponentType, useEffect, useRef } from 'react';
import { ConsolidationPage } from './pages/consolidation.tsx';
import { ExplorePage } from './pages/explore.tsx';
import { MemoryPage } from './pages/memory.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { RecallPage } from './pages/recall.tsx';
import { RunPage } from './pages/run.tsx';
import { SessionPage } from './pages/session.tsx';
import { KeyForm } from './parts/key-form.tsx';
import { LastResort } from './parts/last-resort.tsx';
import { Failure } from './parts/notice.tsx';
import { ScopeChoice } from './parts/scope-choice.tsx';
import { ThemeSwitch } from './parts/theme-switch.tsx';
import { getAddress, usePlace } from './place.ts';
import { SERVICE_URL, useService } from './service.tsx';
import { WatchProvider } from './watch.tsx';

interface View {
  title: string;
  /** The view that it is part of in the navigation. */
  under: string;
  page: ComponentType<{ asked: URLSearchParams }>;
}

const OVERVIEW: View = { title: 'Overview', under: '', page: OverviewPage };

const VIEWS: Readonly<Record<string, View>> = {
  '': OVERVIEW,
  recall: { title: 'Recall', under: 'recall', page: RecallPage },
  explore: { title: 'Explore', under: 'explore', page: ExplorePage },
  session: { title: 'Session', under: 'explore', page: SessionPage },
  memory: { title: 'Memory', under: 'explore', page: MemoryPage },
  sleep: { title: 'Sleep', under: 'sleep', page: ConsolidationPage },
  run: { title: 'Run of sleep', under: 'sleep', page: RunPage },
};

export function App() {
  const { hasKey, keyNeeded, shownFor, scopeError } = useService();
  const { view, asked } = usePlace();
  const { title, under, page: Page } = (Object.hasOwn(VIEWS, view) ? VIEWS[view] : undefined) ?? OVERVIEW;
  const main = useRef<HTMLElement>(null);
  /** A view, the one thing that it shows where it shows one, and for whom. */
  const shown = `${view} ${asked.get('id')} ${shownFor}`;
  const shownBefore = useRef(shown);
  useEffect(() => {
    document.title = `${title} · memoryd`;
    // A reader of the screen is brought to what is new, but not away from what is typed.
    if (shownBefore.current !== shown) {
      main.current?.focus();
      scrollTo(0, 0);
    }
    shownBefore.current = shown;
  }, [shown, title]);
  return (
    <>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Masthead under={under} />
      <main ref={main} tabIndex={-1}>
        {keyNeeded !== undefined ? (
          <KeyForm why={keyNeeded} />
        ) : scopeError !== undefined ? (
          <Failure error={scopeError} />
        ) : (
          <WatchProvider key={`${hasKey ? 'with a key' : 'without'} ${shownFor}`}>
            <LastResort key={shown}>
              <Page asked={asked} />
            </LastResort>
          </WatchProvider>
        )}
      </main>
    </>
  );
}

function Masthead({ under }: { under: string }) {
  const { hasKey, keyNeeded, showKey, shownFor } = useService();
  return (
    <header className="masthead">
      <a className="brand" href={getAddress('')}>
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M8 22.5h16M10.5 16h11M13 9.5h6" />
        </svg>
        memoryd
      </a>
      <nav aria-label="Views">
        {['', 'recall', 'explore', 'sleep'].map((name) => (
          <a key={name} href={getAddress(name)} aria-current={name === under ? 'page' : undefined}>
            {VIEWS[name]?.title}
          </a>
        ))}
      </nav>
      {keyNeeded === undefined && <ScopeChoice key={shownFor} />}
      <div className="masthead-end">
        {hasKey && (
          <button type="button" className="quiet" onClick={() => showKey(undefined)}>
            Drop the key
          </button>
        )}
        <a href={`${SERVICE_URL}/docs`}>API reference</a>
        <ThemeSwitch />
      </div>
    </header>
  );
}
