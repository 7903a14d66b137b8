import type { ReactNode } from 'preact/compat';
import { getAddress } from '../route.ts';
import './tabs.css';

interface TabsProps {
  label: string;
  view: string;
  /** Parameters of the address that the tabs keep. */
  params?: Record<string, string>;
  /** Names in addresses with their labels. The first tab has no name in its address. */
  tabs: readonly (readonly [name: string, label: ReactNode])[];
  current: string;
}

/** Links to the parts of a view. Each part has an address, so that Back leads to the part before. */
export function Tabs({ label, view, params = {}, tabs, current }: TabsProps) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(([name, text], i) => (
        <a
          key={name}
          href={getAddress(view, i === 0 ? params : { ...params, tab: name })}
          aria-current={name === current ? 'page' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/** Returns the tab that an address names, or the first one. */
export function getTab<Name extends string>(params: URLSearchParams, names: readonly [Name, ...Name[]]): Name {
  return names.find((name) => name === params.get('tab')) ?? names[0];
}
