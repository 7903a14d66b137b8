import { type TargetedEvent, useCallback, useEffect, useId, useRef, useState } from 'preact/compat';
import { formatTags, parseTags } from '../draft.ts';
import { formatCounted } from '../format.ts';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import './tag-input.css';

const MAX_SUGGESTIONS = 8;
/** Delay after the last key press before suggestions are loaded. */
const DELAY_MS = 120;

interface TagInputProps {
  id: string;
  /** Tags in the format of `formatTags`. */
  value: string;
  onChange: (value: string) => void;
}

/** An input for tags, separated by commas, that suggests existing tags for the last one. */
export function TagInput({ id, value, onChange }: TagInputProps) {
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const typed = getLastTag(value);
  const { suggestions, hasMore, error } = useSuggestions(isOpen ? typed : undefined, value);
  const isShown = isOpen && suggestions.length > 0;
  const close = () => {
    setIsOpen(false);
    setActive(-1);
  };
  const pick = (tag: string) => {
    const others = value.slice(0, value.length - typed.length).replace(/\s*$/, '');
    onChange(`${others}${others === '' ? '' : ' '}${formatTags([tag])}, `);
    setActive(-1);
    input.current?.focus();
  };
  const press = (event: TargetedEvent<HTMLInputElement, KeyboardEvent>) => {
    const chosen = suggestions[active];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      setIsOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setActive((active + step + suggestions.length + 1) % (suggestions.length + 1));
    } else if (event.key === 'Enter' && isShown && chosen && !event.ctrlKey && !event.metaKey) pick(chosen.value);
    else if (event.key === 'Escape' && isShown) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="tag-input">
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isShown && suggestions[active] ? `${listId}-${active}` : undefined}
        autoComplete="off"
        value={value}
        onFocus={() => setIsOpen(true)}
        onBlur={close}
        onKeyDown={press}
        onChange={(event) => {
          setIsOpen(true);
          setActive(-1);
          onChange(event.currentTarget.value);
        }}
      />
      <div id={listId} role="listbox" aria-label="Existing tags" hidden={!isShown}>
        {suggestions.map(({ value: tag, count }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys of the list
          <div
            key={tag}
            tabIndex={-1}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === active}
            // Keeps the focus in the input.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => pick(tag)}
          >
            {tag} <span className="soft">{formatCounted(count, hasMore)}</span>
          </div>
        ))}
      </div>
      {isOpen && error !== undefined && <p className="soft note">Existing tags could not be loaded.</p>}
    </div>
  );
}

/** Returns the last tag of a line, which is being typed. */
const getLastTag = (value: string): string => /[^,]*$/.exec(value)?.[0].trimStart() ?? '';

/** Returns the tags that begin with a text, without those of the line. Undefined text loads nothing. */
function useSuggestions(text: string | undefined, value: string) {
  const [prefix, setPrefix] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPrefix(text), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) =>
      memory.facets({ field: 'tag', ...(prefix && { prefix }), limit: MAX_SUGGESTIONS * 2 }, { signal }),
    [prefix],
  );
  const { value: found, error } = useResource(prefix === undefined ? undefined : load);
  const given = parseTags(value);
  // The values may be those of an earlier text.
  const begin = text?.toLowerCase() ?? '';
  const suggestions = (found?.values ?? [])
    .filter(({ value: tag }) => !given.includes(tag) && tag.toLowerCase().startsWith(begin))
    .slice(0, MAX_SUGGESTIONS);
  return { suggestions, hasMore: found?.counted_count !== undefined, error };
}
