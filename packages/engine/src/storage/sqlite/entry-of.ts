import { DEFAULTS } from '@memoryd/contract/limits';
import { NO_SPEAKER } from '../../ports/storage-search.ts';
import { packEntry } from '../../recall-index/entry.ts';
import { attributesOf, SESSION_LABEL, SOURCE_LABEL, SPEAKER_LABEL } from '../attributes.ts';
import { labelDigest, namespaceDigest } from '../digests.ts';
import { type Recallable, wordsOf } from '../recall-words.ts';

/**
 * The entry of a memory, without vectors.
 *
 * @param revision the change that it comes with; 0 where nothing changes
 */
export function entryOf(memory: Recallable, ordinal: number, revision = 0): Buffer {
  const { namespace, sessionId } = memory;
  const { frequencies, length, speaker, speakerTerms, marks } = wordsOf(memory);
  const label = (name: string, value: string) => labelDigest(namespace, name, value);
  const session = sessionId === null ? undefined : label(SESSION_LABEL, sessionId);
  const labels = [
    label(SOURCE_LABEL, memory.source),
    ...Array.from(attributesOf(memory.tags, memory.metadata), ([name, value]) => label(name, value)),
    ...(session === undefined ? [] : [session]),
    ...speakerTerms.map((term) => label(SPEAKER_LABEL, term)),
  ];
  return packEntry({
    ordinal,
    createdAt: memory.createdAt,
    namespace: namespaceDigest(namespace),
    // What was given no session may be a conversation all the same, where it names who speaks.
    session: sessionId === DEFAULTS.sessionId && speaker === NO_SPEAKER ? 0 : (session ?? 0),
    revision,
    length,
    frequencies,
    labels: [...new Set(labels)],
    speaker,
    marks,
    storedAt: memory.storedAt,
    importance: memory.importance,
  });
}
