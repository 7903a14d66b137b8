import { useState } from 'preact/compat';
import { useKeys } from '../keys.ts';
import { useRoute } from '../route.ts';
import { useService } from '../service.tsx';
import { useWatch } from '../watch.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { ScopePicker } from './scope-picker.tsx';
import { focusSearchField, SearchField } from './search-field.tsx';
import { NAVIGATION_ID } from './side-navigation.tsx';

/** The bar above all views: the search field, the scope, and help. On narrow screens also the menu button. */
export function TopBar() {
  const { authError } = useService();
  const { view } = useRoute();
  const { unreachableSince } = useWatch();
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  useKeys({ '/': focusSearchField, 'Ctrl+k': focusSearchField, '?': () => setIsHelpOpen(true) });
  return (
    <section className="top" aria-label="Search and scope">
      <button type="button" className="icon menu-button" aria-label="Menu" popovertarget={NAVIGATION_ID}>
        <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" />
        </svg>
        {unreachableSince !== undefined && <i className="menu-alarm" />}
      </button>
      {authError === undefined && (
        <>
          <SearchField key={view} />
          <ScopePicker />
        </>
      )}
      <button type="button" className="icon help-button" aria-label="Help" onClick={() => setIsHelpOpen(true)}>
        ?
      </button>
      {isHelpOpen && <HelpDialog onClose={() => setIsHelpOpen(false)} />}
    </section>
  );
}
