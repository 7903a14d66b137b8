import { type RefObject, useState } from 'preact/compat';

interface CopyButtonProps {
  text: string;
  /** Name of the text for screen readers: the label `curl` makes the button "Copy curl". */
  label: string;
  /**
   * The element that shows the text. If the page may not write to the clipboard, the content of the element is selected
   * instead.
   */
  shownIn: RefObject<HTMLElement | null>;
}

export function CopyButton({ text, label, shownIn }: CopyButtonProps) {
  const [status, setStatus] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setStatus('Copied');
    } catch {
      if (shownIn.current) getSelection()?.selectAllChildren(shownIn.current);
      setStatus('Text selected; copy the text with your keyboard');
    }
  };
  return (
    <span className="copy">
      <span role="status">{status}</span>
      <button type="button" onClick={copy} onBlur={() => setStatus('')}>
        Copy<span className="hidden"> {label}</span>
      </button>
    </span>
  );
}
