import { useRef } from 'preact/compat';
import { ThemeSwitch } from '../parts/theme-switch.tsx';
import { getAddress } from '../route.ts';
import { SERVICE_URL, useService } from '../service.tsx';
import { LiveLight } from './live-light.tsx';

/** The lines of the icons, in a square of 16. */
const SECTIONS = [
  { name: '', icon: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M6.5 6.5v6' },
  { name: 'recall', icon: 'M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9zM10.3 10.3l3.2 3.2' },
  { name: 'sessions', icon: 'M2.5 3h8v5.5h-5l-3 2.5zM12.5 6h1v7l-2.2-1.8H7' },
  { name: 'consolidation', icon: 'M2.5 3.5c5 0 5 4.5 11 4.5M2.5 12.5c5 0 5-4.5 11-4.5M11 5.7L13.5 8L11 10.3' },
  { name: 'activity', icon: 'M1.5 8.5h3l2-5l3 9l2-5h3' },
  { name: 'admin', icon: 'M2.5 4.5h6M12 4.5h1.5M2.5 11.5h1.5M7.5 11.5h6M10.2 2.9v3.2M5.8 9.9v3.2' },
] as const;

/** The id of the navigation, which the menu button of narrow screens opens. */
export const NAVIGATION_ID = 'navigation';

interface SideNavigationProps {
  section: string;
  titles: Readonly<Record<string, { title: string }>>;
}

/** The links to the views, and what concerns the whole page. A menu on narrow screens. */
export function SideNavigation({ section, titles }: SideNavigationProps) {
  const { hasKey, setApiKey } = useService();
  const side = useRef<HTMLElement>(null);
  const hide = () => {
    if (side.current?.matches(':popover-open')) side.current.hidePopover();
  };
  return (
    <header ref={side} className="side" id={NAVIGATION_ID} popover="auto">
      <a className="brand" href={getAddress('')} onClick={hide}>
        <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M8 22.5h16M10.5 16h11M13 9.5h6" />
        </svg>
        memoryd
      </a>
      <nav aria-label="Views">
        {SECTIONS.map(({ name, icon }) => (
          <a key={name} href={getAddress(name)} aria-current={name === section ? 'page' : undefined} onClick={hide}>
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path d={icon} />
            </svg>
            {titles[name]?.title}
          </a>
        ))}
      </nav>
      <div className="side-end">
        <LiveLight />
        <ThemeSwitch />
        <p className="side-links">
          <a href={`${SERVICE_URL}/docs`}>API reference</a>
          {hasKey && (
            <button type="button" className="quiet" onClick={() => setApiKey(undefined)}>
              Sign out
            </button>
          )}
        </p>
      </div>
    </header>
  );
}
