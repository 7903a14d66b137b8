import { Suspense, useState } from 'preact/compat';
import { BulkBar } from '../bulk/bulk-bar.tsx';
import { ImportAndExport } from '../bulk/import-and-export.tsx';
import { parseListFilter } from '../filter.ts';
import { lazyView } from '../lazy-view.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { Loading } from '../parts/notice.tsx';
import { getAddress, withoutParams } from '../route.ts';
import { AddMemory } from './add-memory.tsx';
import type { Column } from './columns.tsx';
import { ColumnsMenu } from './columns-menu.tsx';
import { MemoryTable } from './memory-table.tsx';
import { SavedViews } from './saved-views.tsx';
import { SelectionProvider } from './selection.tsx';
import '../parts/tabs.css';
import './memories.css';

const Timeline = lazyView('Timeline');
const MemoryMap = lazyView('MemoryMap');

const TABS = [
  { view: undefined, label: 'Table' },
  { view: 'timeline', label: 'Timeline' },
  { view: 'map', label: 'Map' },
] as const;

/** Shows the memories that match the filters as a table, as a timeline or as a map. The address stores the choice. */
export function MemoriesPage({ params }: { params: URLSearchParams }) {
  const view = params.get('view') ?? undefined;
  const isTable = view !== 'timeline' && view !== 'map';
  const [columns, setColumns] = useState<readonly Column[]>([]);
  return (
    <SelectionProvider filterKey={JSON.stringify(parseListFilter(params))}>
      <div className={isTable ? 'memories memories-table' : 'memories'}>
        <header className="title memories-title">
          <h1>Memories</h1>
          <nav className="tabs" aria-label="Forms of the list">
            {TABS.map((tab) => (
              <a
                key={tab.label}
                href={getAddress('', withView(params, tab.view))}
                aria-current={tab.view === (isTable ? undefined : view) ? 'page' : undefined}
              >
                {tab.label}
              </a>
            ))}
          </nav>
          <div className="memories-actions">
            <AddMemory />
            <ImportAndExport params={params} />
          </div>
        </header>
        <div className="memories-tools">
          <FilterChips view="" params={params} />
          {isTable && <ColumnsMenu params={params} columns={columns} />}
          <SavedViews params={params} />
        </div>
        <Suspense fallback={<Loading what="the view" />}>
          {view === 'timeline' ? (
            <Timeline params={params} />
          ) : view === 'map' ? (
            <MemoryMap params={params} />
          ) : (
            <MemoryTable params={params} onColumns={setColumns} />
          )}
        </Suspense>
        <BulkBar params={params} />
      </div>
    </SelectionProvider>
  );
}

function withView(params: URLSearchParams, view: string | undefined): URLSearchParams {
  const copy = withoutParams(params, 'open', 'view');
  if (view !== undefined) copy.set('view', view);
  return copy;
}
