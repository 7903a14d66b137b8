import type { RecallResult } from '@memoryd/client';
import { useCallback, useMemo } from 'preact/compat';
import { type ListFilter, parseFilter } from '../filter.ts';
import { formatCount } from '../format.ts';
import { MemoryLine } from '../panel/memory-line.tsx';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';

/** Results of a question that are lit. */
const MAX_LIT = 50;

/** The results of a question that are on the map, best first. */
export interface Lit {
  results: readonly RecallResult[];
  /** Number of results, also of those that are not on the map. */
  total: number;
  /** Scores by the index of the point, from 0 to 1 for the best result. */
  strengths: ReadonlyMap<number, number>;
}

/** Asks the question of the address about the memories that the map shows. `lit` is undefined without a question. */
export function useLit(params: URLSearchParams, indexes: ReadonlyMap<string, number>) {
  const query = params.get('light') ?? '';
  const filter = JSON.stringify(parseFilter(params));
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => {
      const conditions = JSON.parse(filter) as Omit<ListFilter, 'q'>;
      return memory.recall({ query, top_k: MAX_LIT, track: false, ...conditions }, { signal });
    },
    [query, filter],
  );
  const { value, error, reload } = useResource(query === '' ? undefined : load);
  const lit = useMemo((): Lit | undefined => {
    if (!value || query === '') return undefined;
    const results = value.results.filter(({ id }) => indexes.has(id));
    const best = Math.max(...results.map(({ score }) => score), Number.EPSILON);
    return {
      results,
      total: value.results.length,
      strengths: new Map(results.map(({ id, score }) => [indexes.get(id) as number, score / best])),
    };
  }, [value, indexes, query]);
  return { lit, error, reload };
}

/** The results of a question with their scores: what the map lights. */
export function LitList({ lit: { results, total } }: { lit: Lit }) {
  return (
    <section aria-label="Results">
      <h2>
        {results.length < total && `${results.length} of `}
        {formatCount(total, 'result')}
        {results.length < total && ' on the map'}
      </h2>
      <ol className="map-texts">
        {results.map((result) => (
          <MemoryLine key={result.id} memory={result}>
            <span>Score {result.score.toFixed(2)}</span>
          </MemoryLine>
        ))}
      </ol>
    </section>
  );
}
