import { useCallback } from 'preact/compat';
import { parseListFilter } from '../filter.ts';
import { formatMemories } from '../format.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import { useStable } from '../stable.ts';
import { ExportChoices } from './export-choices.tsx';
import { fetchAll } from './frozen-selection.ts';

/** Exports all memories that match the filters. */
export function ExportMenu({ params, onChosen }: { params: URLSearchParams; onChosen: () => void }) {
  const filter = useStable(parseListFilter(params));
  const load = useCallback((memory: Memories, signal: AbortSignal) => fetchAll(memory, filter, signal), [filter]);
  const { value: all, error, reload } = useResource(load);
  if (error !== undefined) return <Failure error={error} onRetry={reload} />;
  if (!all) return <Loading what="the number of memories" />;
  return (
    <div className="export-menu">
      <p>Export {formatMemories(all.total, all.hasMore)} as</p>
      <ExportChoices selected={all} filter={filter} onChosen={onChosen} />
    </div>
  );
}
