import type { Draft } from '../draft.ts';
import { capitalize } from '../format.ts';
import { TextDiff } from './text-diff.tsx';

interface DraftDiffProps {
  before: Draft;
  after: Draft;
  /** Text that is shown if the drafts are equal. */
  none: string;
}

/** The differences between two drafts of a memory. */
export function DraftDiff({ before, after, none }: DraftDiffProps) {
  const fields = (['tags', 'importance'] as const).filter((name) => before[name] !== after[name]);
  const sameText = before.content === after.content;
  if (sameText && fields.length === 0) return <p>{none}</p>;
  return (
    <>
      {!sameText && <TextDiff before={before.content} after={after.content} />}
      {fields.map((name) => (
        <p key={name}>
          {capitalize(name)} <del>{before[name] || 'none'}</del> <ins>{after[name] || 'none'}</ins>
        </p>
      ))}
    </>
  );
}
