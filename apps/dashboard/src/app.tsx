import { type ComponentType, useLayoutEffect, useRef } from 'preact/compat';
import { ConsolidationPage } from './pages/consolidation.tsx';
import { ExplorePage } from './pages/explore.tsx';
import { MemoryPage } from './pages/memory.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { RecallPage } from './pages/recall.tsx';
import { RunPage } from './pages/run.tsx';
import { SessionPage } from './pages/session.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { KeyForm } from './parts/key-form.tsx';
import { Failure } from './parts/notice.tsx';
import { ScopeChoice } from './parts/scope-choice.tsx';
import { ThemeSwitch } from './parts/theme-switch.tsx';
import { getAddress, useRoute } from './route.ts';
import { SERVICE_URL, useService } from './service.tsx';
import { WatchProvider } from './watch.tsx';

interface View {
  title: string;
  /**
   * Name of the view whose navigation link is marked as current: this view, or the list view that links to this view.
   */
  section: string;
  page: ComponentType<{ params: URLSearchParams }>;
}

const OVERVIEW: View = { title: 'Overview', section: '', page: OverviewPage };

const VIEWS: Readonly<Record<string, View>> = {
  '': OVERVIEW,
  recall: { title: 'Recall', section: 'recall', page: RecallPage },
  explore: { title: 'Explore', section: 'explore', page: ExplorePage },
  session: { title: 'Session', section: 'explore', page: SessionPage },
  memory: { title: 'Memory', section: 'explore', page: MemoryPage },
  consolidation: { title: 'Consolidation', section: 'consolidation', page: ConsolidationPage },
  run: { title: 'Consolidation run', section: 'consolidation', page: RunPage },
};

export function App() {
  const { hasKey, authError, scopeKey, scopeError } = useService();
  const { view, params } = useRoute();
  const { title, section, page: Page } = (Object.hasOwn(VIEWS, view) ? VIEWS[view] : undefined) ?? OVERVIEW;
  const main = useRef<HTMLElement>(null);
  /** Identifies the content: the view, the id of its memory, session or run, and the scope. */
  const contentKey = `${view} ${params.get('id')} ${scopeKey}`;
  const previousKey = useRef(contentKey);
  // A layout effect, because a list may restore its scroll position before other effects run.
  useLayoutEffect(() => {
    document.title = `${title} · memoryd`;
    // Focuses new content, so that screen readers continue there. Typing in a view does not change `contentKey`, so the
    // input keeps the focus.
    if (previousKey.current !== contentKey) {
      main.current?.focus();
      scrollTo(0, 0);
    }
    previousKey.current = contentKey;
  }, [contentKey, title]);
  return (
    <>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Masthead section={section} />
      <main ref={main} tabIndex={-1}>
        {authError !== undefined ? (
          <KeyForm reason={authError} />
        ) : scopeError !== undefined ? (
          <Failure error={scopeError} />
        ) : (
          <WatchProvider key={`${hasKey ? 'with key' : 'without key'} ${scopeKey}`}>
            <ErrorBoundary key={contentKey}>
              <Page params={params} />
            </ErrorBoundary>
          </WatchProvider>
        )}
      </main>
    </>
  );
}

function Masthead({ section }: { section: string }) {
  const { hasKey, authError, setApiKey, scopeKey } = useService();
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
        {['', 'recall', 'explore', 'consolidation'].map((name) => (
          <a key={name} href={getAddress(name)} aria-current={name === section ? 'page' : undefined}>
            {VIEWS[name]?.title}
          </a>
        ))}
      </nav>
      {authError === undefined && <ScopeChoice key={scopeKey} />}
      <div className="masthead-end">
        {hasKey && (
          <button type="button" className="quiet" onClick={() => setApiKey(undefined)}>
            Sign out
          </button>
        )}
        <a href={`${SERVICE_URL}/docs`}>API reference</a>
        <ThemeSwitch />
      </div>
    </header>
  );
}
