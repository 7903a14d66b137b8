import type { HistoryResponse } from '@memoryd/client';
import { formatDateTime } from '../format.ts';
import { TextDiff } from '../parts/text-diff.tsx';
import { Section } from './section.tsx';

interface TextHistoryProps {
  history: HistoryResponse;
  /** Gives the memory an earlier text again; undefined if the memory is read-only here. */
  onRestore: ((content: string) => void) | undefined;
}

/** Shows the texts that a memory has had, newest first, with the words that changed. */
export function TextHistory({ history: { texts, total }, onRestore }: TextHistoryProps) {
  const newestFirst = texts.toReversed();
  const current = newestFirst[0]?.content;
  return (
    <Section title="History">
      <ol className="history">
        {newestFirst.map(({ revision, content, held_from: from }, i) => {
          const earlier = newestFirst[i + 1];
          return (
            <li key={revision}>
              <p className="soft">
                {earlier ? 'Changed' : 'Stored'} {formatDateTime(from)}
              </p>
              {earlier ? (
                <TextDiff before={earlier.content} after={content} />
              ) : (
                <p className="memory-text" dir="auto">
                  {content}
                </p>
              )}
              {onRestore && content !== current && (
                <button type="button" onClick={() => onRestore(content)}>
                  Restore this text
                </button>
              )}
            </li>
          );
        })}
      </ol>
      {total > texts.length && (
        <p className="soft">
          The first {texts.length} of {total} texts.
        </p>
      )}
    </Section>
  );
}
