import type { RecallRequest, RecallResult } from '@memoryd/client';
import { useMemo } from 'react';
import { parseFilter } from '../filter.ts';
import { counted } from '../format.ts';
import { useLoaded, useTyped } from '../loading.ts';
import { FilterChips } from '../parts/filter-chips.tsx';
import { MemoryLink, OwnerLinks, Tags } from '../parts/labels.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import { Failure, Nothing } from '../parts/notice.tsx';
import { RecallCode } from '../parts/recall-code.tsx';
import { ScoreParts } from '../parts/score-parts.tsx';
import { askedNow, getAddress, goTo, requestScope } from '../place.ts';
import { getParts, sumOfPositive } from '../score.ts';
import type { Memories } from '../service.tsx';

/** Milliseconds without a key struck after which is asked: longer than between the keys of somebody who types slowly. */
const STILL_MS = 400;

const SIZES = [5, 10, 20, 50];
const USUAL_SIZE = 10;

/** Finds memories while one types, and says why each was found. */
export function RecallPage({ asked }: { asked: URLSearchParams }) {
  const [query, setQuery] = useTyped(asked.get('query') ?? '', (text) => goWith('query', text), STILL_MS);
  const request = useMemo(() => getRequest(asked), [asked]);
  const ask = useMemo(
    () =>
      request && ((memory: Memories, signal: AbortSignal) => memory.recall({ ...request, track: false }, { signal })),
    [request],
  );
  const { value, error, loading, reload } = useLoaded(ask);
  return (
    <>
      <header className="title">
        <h1>Recall</h1>
      </header>
      <div className="recall-bar">
        <input
          type="search"
          aria-label="What to recall"
          placeholder="Ask in your own words"
          // biome-ignore lint/a11y/noAutofocus: typing is what the page is for
          autoFocus
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <label className="inline">
          up to
          <select value={request?.top_k ?? USUAL_SIZE} onChange={(event) => goWith('top_k', event.target.value)}>
            {SIZES.map((size) => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
        <label className="inline">
          <input
            type="checkbox"
            checked={asked.get('only_relevant') === 'true'}
            onChange={(event) => goWith('only_relevant', event.target.checked ? 'true' : '')}
          />
          Only likely answers
        </label>
      </div>
      <FilterChips asked={asked} onChange={go} />
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {request ? (
        <Results
          results={value?.results}
          truncated={value?.truncated}
          loading={loading}
          onlyRelevant={request.only_relevant === true}
        />
      ) : (
        <Nothing title="Type a question, a name, a few words">
          <p>Results come as you type, best first, each with what speaks for it.</p>
        </Nothing>
      )}
      {request && <RecallCode request={{ ...request, ...requestScope(asked) }} />}
    </>
  );
}

function go(asked: URLSearchParams): void {
  goTo(getAddress('recall', asked), { replace: true });
}

function goWith(name: string, value: string): void {
  const asked = askedNow();
  if (value === '') asked.delete(name);
  else asked.set(name, value);
  go(asked);
}

function getRequest(asked: URLSearchParams): RecallRequest | undefined {
  const query = asked.get('query') ?? '';
  if (query === '') return undefined;
  const size = Number(asked.get('top_k'));
  return {
    query,
    top_k: SIZES.includes(size) ? size : USUAL_SIZE,
    ...parseFilter(asked),
    ...(asked.get('only_relevant') === 'true' && { only_relevant: true }),
    explain: true,
  };
}

interface ResultsProps {
  results: readonly RecallResult[] | undefined;
  truncated: true | undefined;
  loading: boolean;
  onlyRelevant: boolean;
}

function Results({ results, truncated, loading, onlyRelevant }: ResultsProps) {
  const widest = Math.max(0.001, ...(results ?? []).map(({ explanation }) => sumOfPositive(getParts(explanation))));
  return (
    <section aria-label="Results" aria-busy={loading}>
      <p role="status" className="soft results-count">
        {results ? counted(results.length, 'result') : loading ? 'Recalling…' : ''}
        {truncated && ', cut short by the largest answer size'}
      </p>
      {results?.length === 0 && (
        <Nothing title="Nothing comes to mind">
          <p>
            {onlyRelevant
              ? 'No memory is likely to answer this. Clear “Only likely answers” to see less likely results.'
              : 'No memory shares a word or a meaning with this, or a filter leaves it out.'}
          </p>
        </Nothing>
      )}
      <ol className="results">
        {results?.map((result) => (
          <li key={result.id}>
            <Result result={result} widest={widest} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Result({ result, widest }: { result: RecallResult; widest: number }) {
  const { id, content, score, tags, superseded_by: newer, explanation } = result;
  return (
    <article className="result">
      <p className="score" title={`score ${score}`}>
        <span className="hidden">Score </span>
        {score.toFixed(2)}
      </p>
      <div>
        <MarkedText text={content} words={explanation?.matched ?? []} />
        <div className="meta">
          <MemoryLink id={id} />
          <OwnerLinks of={result} />
          <Tags tags={tags} />
          {newer !== undefined && (
            <span>
              corrected by <MemoryLink id={newer} />
            </span>
          )}
        </div>
        {explanation && <ScoreParts explanation={explanation} score={score} widest={widest} />}
      </div>
    </article>
  );
}
