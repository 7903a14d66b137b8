import { type ComponentType, Suspense, useEffect, useLayoutEffect, useRef } from 'preact/compat';
import { ForgetToasts } from './bulk/forget-toasts.tsx';
import { lazyView, loadViewsWhenIdle } from './lazy-view.ts';
import { useIsWide } from './media.ts';
import { MemoriesPage } from './memories/memories-page.tsx';
import { ErrorBoundary } from './parts/error-boundary.tsx';
import { KeyForm } from './parts/key-form.tsx';
import { Failure, Loading, Skeleton } from './parts/notice.tsx';
import { useRoute } from './route.ts';
import { useService } from './service.tsx';
import { Beside } from './shell/beside.tsx';
import { OutageNotice } from './shell/live-light.tsx';
import { focusSearchField } from './shell/search-field.tsx';
import { SideNavigation } from './shell/side-navigation.tsx';
import { TopBar } from './shell/top-bar.tsx';
import './shell/shell.css';
import { WatchProvider } from './watch.tsx';

interface View {
  title: string;
  /**
   * Name of the view whose navigation link is marked as current: this view, or the list view that links to this view.
   */
  section: string;
  page: ComponentType<{ params: URLSearchParams }>;
}

const MEMORIES: View = { title: 'Memories', section: '', page: MemoriesPage };

const VIEWS: Readonly<Record<string, View>> = {
  '': MEMORIES,
  recall: {
    title: 'Recall',
    section: 'recall',
    page: lazyView('RecallPage'),
  },
  sessions: {
    title: 'Sessions',
    section: 'sessions',
    page: lazyView('SessionsPage'),
  },
  session: {
    title: 'Session',
    section: 'sessions',
    page: lazyView('SessionPage'),
  },
  consolidation: {
    title: 'Consolidation',
    section: 'consolidation',
    page: lazyView('ConsolidationPage'),
  },
  run: {
    title: 'Consolidation run',
    section: 'consolidation',
    page: lazyView('RunPage'),
  },
  activity: {
    title: 'Activity',
    section: 'activity',
    page: lazyView('ActivityPage'),
  },
  admin: {
    title: 'Admin',
    section: 'admin',
    page: lazyView('AdminPage'),
  },
};

const MemoryPanel = lazyView('MemoryPanel');

/** The shell of all views: the navigation, the bar with the search field, the view, and the open memory beside it. */
export function App() {
  const { apiKey, authError, scopeKey, scopeError } = useService();
  const { view, params } = useRoute();
  const { title, section, page: Page } = (Object.hasOwn(VIEWS, view) ? VIEWS[view] : undefined) ?? MEMORIES;
  const openId = params.get('open');
  const isWide = useIsWide();
  const main = useRef<HTMLElement>(null);
  /** Identifies the content: the view, the id of its session or run, and the scope. */
  const contentKey = `${view} ${params.get('id')} ${scopeKey}`;
  const previousKey = useRef(contentKey);
  const isQuestionMissing = view === 'recall' && !params.get('query');
  // A layout effect, because a list may restore its scroll position before other effects run.
  useLayoutEffect(() => {
    document.title = `${title} · memoryd`;
    // Focuses new content, so that screen readers continue there. Typing in a view does not change `contentKey`, so the
    // input keeps the focus.
    if (previousKey.current !== contentKey) {
      if (isQuestionMissing) focusSearchField();
      else main.current?.focus();
      scrollTo(0, 0);
    }
    previousKey.current = contentKey;
  }, [contentKey, title, isQuestionMissing]);
  useEffect(loadViewsWhenIdle, []);
  const isPaused = authError !== undefined || scopeError !== undefined;
  const isOpen = openId !== null && !isPaused;
  return (
    <WatchProvider key={`${apiKey} ${scopeKey}`} isPaused={isPaused}>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <SideNavigation section={section} titles={VIEWS} />
      <TopBar />
      <div className={isOpen ? 'stage with-beside' : 'stage'}>
        {/* A memory that covers the view must not be left by Tab. */}
        <main ref={main} tabIndex={-1} inert={isOpen && !isWide}>
          {authError !== undefined ? (
            <KeyForm reason={authError} />
          ) : scopeError !== undefined ? (
            <Failure error={scopeError} />
          ) : (
            <>
              <OutageNotice />
              <ErrorBoundary key={contentKey}>
                <Suspense fallback={<Skeleton what="the view" />}>
                  <Page params={params} />
                </Suspense>
              </ErrorBoundary>
            </>
          )}
        </main>
        {isOpen && (
          <Beside id={openId}>
            <ErrorBoundary key={openId}>
              <Suspense fallback={<Loading what="the memory" />}>
                <MemoryPanel key={openId} id={openId} />
              </Suspense>
            </ErrorBoundary>
          </Beside>
        )}
      </div>
      <ForgetToasts />
    </WatchProvider>
  );
}
