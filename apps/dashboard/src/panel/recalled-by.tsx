import type { RememberedRecall } from '@memoryd/client';
import { useCallback } from 'preact/compat';
import { formatCount, formatNumber } from '../format.ts';
import { RelativeTime } from '../parts/labels.tsx';
import { useResource } from '../resource.ts';
import { getAddress } from '../route.ts';
import type { Memories } from '../service.tsx';
import { LoadedSection } from './section.tsx';

const MAX_RECALLS = 10;

/** Shows the questions that returned a memory. */
export function RecalledBy({ id }: { id: string }) {
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.recalls({ memory_id: id, limit: MAX_RECALLS }, { signal }),
    [id],
  );
  return (
    <LoadedSection title="Recalled by" resource={useResource(load)}>
      {({ recalls, total, is_remembered }) => {
        if (!is_remembered) return <p className="soft">Questions are not remembered: the service does not log them.</p>;
        if (total === 0) return <p className="soft">No question has returned this memory since the service started.</p>;
        return (
          <>
            <ol className="lines">
              {recalls.map((recall) => (
                <RecallLine key={recall.id} recall={recall} id={id} />
              ))}
            </ol>
            {total > recalls.length && (
              <p className="soft">
                The last {recalls.length} of {formatCount(total, 'question')}.
              </p>
            )}
          </>
        );
      }}
    </LoadedSection>
  );
}

function RecallLine({
  recall: { at, kind, query, results, count, user_id },
  id,
}: {
  recall: RememberedRecall;
  id: string;
}) {
  const place = results.findIndex(({ memory_id }) => memory_id === id);
  const score = results[place]?.score;
  const address = getAddress('recall', { query, ...(user_id !== undefined && { user_id }) });
  return (
    <li className="memory-line">
      <p className="clamped" dir="auto">
        {query === '' ? 'Context without a question' : <a href={address}>{query}</a>}
      </p>
      <div className="meta">
        {kind === 'context' && <span>Given to an agent</span>}
        {place >= 0 && (
          <span>
            Place {formatNumber(place + 1)} of {formatNumber(count)}
          </span>
        )}
        {score !== undefined && <span>Score {score.toFixed(2)}</span>}
        <RelativeTime at={at} />
      </div>
    </li>
  );
}
