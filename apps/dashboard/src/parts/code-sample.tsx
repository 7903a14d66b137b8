import { useRef, useState } from 'react';

/** Code to copy. Where a page may not write to the clipboard, it is selected instead. */
export function CodeSample({ label, code }: { label: string; code: string }) {
  const block = useRef<HTMLElement>(null);
  const [told, setTold] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code);
      setTold('Copied');
    } catch {
      if (block.current) getSelection()?.selectAllChildren(block.current);
      setTold('Selected; copy it with your keyboard');
    }
  };
  return (
    <figure className="sample">
      <figcaption>
        <span>{label}</span>
        <span role="status">{told}</span>
        <button type="button" onClick={copy} onBlur={() => setTold('')}>
          Copy<span className="hidden"> {label}</span>
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section ref={block} tabIndex={0} aria-label={`${label} code`}>
        <pre>{code}</pre>
      </section>
    </figure>
  );
}
