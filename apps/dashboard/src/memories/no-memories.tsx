import { parseListFilter, withoutFilter } from '../filter.ts';
import { GettingStarted } from '../parts/getting-started.tsx';
import { Nothing } from '../parts/notice.tsx';
import { getAddress, getAddressInScope, getScope } from '../route.ts';

interface NoMemoriesProps {
  params: URLSearchParams;
  onStored: (id: string) => void;
}

/** Shown in place of an empty table. If nothing is stored at all, shows how to store the first memory. */
export function NoMemories({ params, onStored }: NoMemoriesProps) {
  if (Object.keys(parseListFilter(params)).length > 0) {
    return (
      <Nothing title="No memories match these filters">
        <p>
          Remove a filter, or <a href={getAddress('', withoutFilter(params))}>clear all filters</a>.
        </p>
      </Nothing>
    );
  }
  return getScope(params) ? (
    <Nothing title="No memories of this user or agent">
      <p>
        Choose another user or agent, or <a href={getAddressInScope(undefined, '', params)}>show all</a> memories.
      </p>
    </Nothing>
  ) : (
    <>
      <h2>Store your first memory</h2>
      <GettingStarted onStored={onStored} />
    </>
  );
}
