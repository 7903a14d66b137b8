import { Suspense } from 'preact/compat';
import { lazyView } from '../lazy-view.ts';
import { useSelection } from '../memories/selection.tsx';

const BulkActions = lazyView('BulkActions');

/** The actions on all selected memories. Shown while memories are selected. */
export function BulkBar({ params }: { params: URLSearchParams }) {
  const { count } = useSelection();
  if (count === 0) return null;
  return (
    <Suspense fallback={<div className="bulk-bar" />}>
      <BulkActions params={params} />
    </Suspense>
  );
}
