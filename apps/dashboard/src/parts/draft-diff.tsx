import type { Draft } from '../draft.ts';
import { TextDiff } from './text-diff.tsx';

interface DraftDiffProps {
  before: Draft;
  after: Draft;
  /** Said where both are the same. */
  none: string;
}

/** What is different between two drafts of one memory, and nothing else of them. */
export function DraftDiff({ before, after, none }: DraftDiffProps) {
  const fields = (['tags', 'importance'] as const).filter((name) => before[name] !== after[name]);
  const sameText = before.content === after.content;
  if (sameText && fields.length === 0) return <p>{none}</p>;
  return (
    <>
      {!sameText && <TextDiff before={before.content} after={after.content} />}
      {fields.map((name) => (
        <p key={name}>
          {name} <del>{before[name] || 'none'}</del> <ins>{after[name] || 'none'}</ins>
        </p>
      ))}
    </>
  );
}
