import type { RecallRequest, RecallResponse, RecallResult } from '@memoryd/client';
import { getScoreWord } from '@memoryd/contract/score-words';
import { useMemo } from 'preact/compat';
import { askedAgain } from '../asked-again.ts';
import { changesMemories } from '../events.ts';
import { parseFilter } from '../filter.ts';
import { formatCount } from '../format.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { MemoryMeta, MemoryText } from '../parts/labels.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import { Failure, Nothing } from '../parts/notice.tsx';
import { RecallCode } from '../parts/recall-code.tsx';
import { ScoreParts } from '../parts/score-parts.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { useResource } from '../resource.ts';
import { getScopeRequest, setParams } from '../route.ts';
import { getParts, sumPositive } from '../score.ts';
import type { Memories } from '../service.tsx';
import { useStable } from '../stable.ts';

const SIZES = [5, 10, 20, 50];
const DEFAULT_SIZE = 10;

/** Estimated height of a result that is not rendered yet. */
const RESULT_PX = 220;

/** Recalls memories for the question in the search field as the user types, and explains each score. */
export function RecallPage({ params }: { params: URLSearchParams }) {
  // Stable, because an opened memory changes the address, too.
  const request = useStable(getRequest(params));
  const round = askedAgain.use();
  // biome-ignore lint/correctness/useExhaustiveDependencies: another round asks again
  const load = useMemo(
    () =>
      request &&
      (async (memory: Memories, signal: AbortSignal) => ({
        list: JSON.stringify(request),
        ...(await memory.recall({ ...request, track: false }, { signal })),
      })),
    [request, round],
  );
  // New memories do not change the results until the question is asked again.
  const { value, error, loading, reload } = useResource(load, changesMemories);
  return (
    <>
      <header className="title">
        <h1>Recall</h1>
      </header>
      <div className="recall-bar">
        <FilterChips view="recall" params={params} replace />
        <label className="inline">
          Results
          <select
            value={request?.top_k ?? DEFAULT_SIZE}
            onChange={(event) => setParams({ top_k: event.currentTarget.value })}
          >
            {SIZES.map((size) => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
        <label className="inline">
          <input
            type="checkbox"
            checked={params.get('only_relevant') === 'true'}
            onChange={(event) => setParams({ only_relevant: event.currentTarget.checked ? 'true' : '' })}
          />
          Hide weak results
        </label>
      </div>
      <Failure error={error} onRetry={reload} />
      {request ? (
        <Results answer={value} loading={loading} hidesWeak={request.only_relevant === true} />
      ) : (
        <Nothing title="Search your memories">
          <p>Results appear as you type, best first, with an explanation of each score.</p>
        </Nothing>
      )}
      {request && <RecallCode request={{ ...request, ...getScopeRequest(params) }} />}
    </>
  );
}

function getRequest(params: URLSearchParams): RecallRequest | undefined {
  const query = params.get('query') ?? '';
  if (query === '') return undefined;
  const size = Number(params.get('top_k'));
  return {
    query,
    top_k: SIZES.includes(size) ? size : DEFAULT_SIZE,
    ...parseFilter(params),
    ...(params.get('only_relevant') === 'true' && { only_relevant: true }),
    explain: true,
  };
}

interface ResultsProps {
  /** The response, with its request as text. */
  answer: (RecallResponse & { list: string }) | undefined;
  loading: boolean;
  hidesWeak: boolean;
}

function Results({ answer, loading, hidesWeak }: ResultsProps) {
  const results = answer?.results;
  const widest = Math.max(0.001, ...(results ?? []).map(({ explanation }) => sumPositive(getParts(explanation))));
  return (
    <section aria-label="Results" aria-busy={loading}>
      <p role="status" className="soft results-count">
        {results ? formatCount(results.length, 'result') : loading ? 'Searching…' : ''}
        {answer?.truncated && ', cut off at the maximum response size'}
      </p>
      {results?.length === 0 && (
        <Nothing title="No results">
          <p>
            {hidesWeak
              ? 'All results are weak. To see weak results, clear “Hide weak results”.'
              : 'No memory matches the words or the meaning of this query, or the filters exclude all matches.'}
          </p>
        </Nothing>
      )}
      {answer && (
        <VirtualList
          key={answer.list}
          label="Results"
          list={answer.list}
          items={answer.results}
          total={answer.results.length}
          getKey={({ id }) => id}
          estimatePx={RESULT_PX}
        >
          {(result) => <Result result={result} widest={widest} />}
        </VirtualList>
      )}
    </section>
  );
}

function Result({ result, widest }: { result: RecallResult; widest: number }) {
  const { id, content, score, explanation } = result;
  const word = getScoreWord(score);
  return (
    <article className="result">
      <p className={`score score-${word}`} title={`Score ${score}`}>
        <span className="hidden">Score </span>
        {score.toFixed(2)} <span className="score-word">{word}</span>
      </p>
      <div>
        <MemoryText id={id}>
          <MarkedText text={content} words={explanation?.matched ?? []} />
        </MemoryText>
        <MemoryMeta memory={result} />
        {explanation && <ScoreParts explanation={explanation} score={score} widest={widest} />}
      </div>
    </article>
  );
}
