import { useState } from 'preact/compat';
import { getStored, setStored } from '../browser-storage.ts';
import { Menu } from '../parts/menu.tsx';
import { getAddress, withoutParams } from '../route.ts';
import { useService } from '../service.tsx';

/** Filters, columns and order under a name. */
interface SavedView {
  name: string;
  /** The parameters of the address. */
  query: string;
}

const MAX_VIEWS = 50;
const MAX_NAME_CHARS = 60;

/** Lists the saved views, and saves the current one. The browser stores them separately for each API key. */
export function SavedViews({ params }: { params: URLSearchParams }) {
  const { keyId = '' } = useService();
  const storageName = `memoryd-views ${keyId}`;
  const [views, setViews] = useState(() => loadViews(storageName));
  const [name, setName] = useState('');
  const change = (edit: (views: SavedView[]) => SavedView[]) => {
    // Another tab may have saved a view.
    const changed = edit(loadViews(storageName));
    setStored('localStorage', storageName, JSON.stringify(changed));
    setViews(changed);
  };
  const save = (event: Event) => {
    event.preventDefault();
    const view = { name: name.trim(), query: String(withoutParams(params, 'open')) };
    change((all) => [...all.filter((one) => one.name !== view.name), view].slice(-MAX_VIEWS));
    setName('');
  };
  return (
    <Menu label="Views" title="Saved views">
      {(close) => (
        <div className="columns-menu">
          {views.length === 0 && <p className="soft">Save filters, order and columns under a name.</p>}
          <ul>
            {views.map((view) => (
              <li key={view.name}>
                <a href={getAddress('', new URLSearchParams(view.query))} onClick={close}>
                  {view.name}
                </a>
                <button
                  type="button"
                  className="icon"
                  aria-label={`Delete view ${view.name}`}
                  onClick={() => change((all) => all.filter((one) => one.name !== view.name))}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
          <form className="inline" onSubmit={save}>
            <input
              aria-label="Name of the view"
              placeholder="Name"
              required
              pattern=".*\S.*"
              maxLength={MAX_NAME_CHARS}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <button type="submit">Save view</button>
          </form>
        </div>
      )}
    </Menu>
  );
}

/** Returns the stored views. Another version of the page may have stored something else. */
function loadViews(storageName: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(getStored('localStorage', storageName) ?? '[]');
    return Array.isArray(stored)
      ? stored.filter((one) => typeof one?.name === 'string' && typeof one.query === 'string')
      : [];
  } catch {
    return [];
  }
}
