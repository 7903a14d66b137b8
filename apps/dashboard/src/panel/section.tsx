import type { ReactNode } from 'preact/compat';
import { useId } from 'preact/compat';
import { Failure, Loading } from '../parts/notice.tsx';
import type { Resource } from '../resource.ts';

/** A part of the panel with a heading. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <section className="panel-section" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

interface LoadedSectionProps<T> {
  title: string;
  resource: Resource<T>;
  children: (value: T) => ReactNode;
}

/** A part of the panel that loads its content. */
export function LoadedSection<T>({
  title,
  resource: { value, error, loading, reload },
  children,
}: LoadedSectionProps<T>) {
  return (
    <Section title={title}>
      <Failure error={error} onRetry={reload} />
      {value === undefined ? loading && <Loading what={title.toLowerCase()} /> : children(value)}
    </Section>
  );
}
