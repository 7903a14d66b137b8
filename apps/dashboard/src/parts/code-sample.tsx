import { useRef } from 'preact/compat';
import { CopyButton } from './copy-button.tsx';

/** Code with a button that copies it. */
export function CodeSample({ label, code }: { label: string; code: string }) {
  const block = useRef<HTMLElement>(null);
  return (
    <figure className="sample">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} label={label} shownIn={block} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll the code */}
      <section ref={block} tabIndex={0} aria-label={`${label} code`}>
        <pre>{code}</pre>
      </section>
    </figure>
  );
}
