import { DRAFT_FIELDS, type Draft, parseMetadata } from '../draft.ts';
import { formatDateTime, formatValue } from '../format.ts';
import { TextDiff } from './text-diff.tsx';

interface DraftDiffProps {
  before: Draft;
  after: Draft;
  /** Text that is shown if the drafts are equal. */
  none: string;
}

type Property = Exclude<keyof Draft, 'content'>;

export const PROPERTY_LABELS: Readonly<Record<Property, string>> = {
  tags: 'Tags',
  importance: 'Importance',
  valid_from: 'True from',
  valid_to: 'True until',
  expires_at: 'Expires',
  metadata: 'Metadata',
};

/** The differences between two drafts of a memory. */
export function DraftDiff({ before, after, none }: DraftDiffProps) {
  const [, ...properties] = DRAFT_FIELDS;
  const changed = properties.filter((name) => before[name] !== after[name]);
  const sameText = before.content === after.content;
  if (sameText && changed.length === 0) return <p>{none}</p>;
  return (
    <>
      {!sameText && <TextDiff before={before.content} after={after.content} />}
      {changed.map((name) => (
        <p key={name}>
          {PROPERTY_LABELS[name]} <del>{formatProperty(name, before)}</del> <ins>{formatProperty(name, after)}</ins>
        </p>
      ))}
    </>
  );
}

function formatProperty(name: Property, draft: Draft): string {
  if (name === 'metadata') {
    const entries = parseMetadata(draft.metadata).map(([key, value]) => `${key}: ${formatValue(value)}`);
    return entries.join(', ') || 'none';
  }
  const isTime = name === 'valid_from' || name === 'valid_to' || name === 'expires_at';
  return isTime && draft[name] !== '' ? formatDateTime(draft[name]) : draft[name] || 'none';
}
