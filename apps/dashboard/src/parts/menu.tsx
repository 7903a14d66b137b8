import { type ReactNode, useEffect, useId, useRef, useState } from 'preact/compat';

interface MenuProps {
  label: ReactNode;
  /** Name of the content, for screen readers. */
  title: string;
  children: (close: () => void) => ReactNode;
}

/**
 * A button that opens a panel with controls below it. Escape, a click elsewhere and leaving it with Tab close the panel.
 */
export function Menu({ label, title, children }: MenuProps) {
  const [isOpen, setIsOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const close = () => {
    setIsOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    const closeOutside = ({ target }: Event) => {
      if (target instanceof Node && target.isConnected && !menu.current?.contains(target)) setIsOpen(false);
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
    };
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes the panel from each of its controls
    <div
      ref={menu}
      className="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.preventDefault();
        close();
      }}
    >
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setIsOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && (
        <section id={id} className="menu-panel" aria-label={title}>
          {children(close)}
        </section>
      )}
    </div>
  );
}
