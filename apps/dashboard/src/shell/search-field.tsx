import { askAgain } from '../asked-again.ts';
import { useDebouncedInput } from '../debounced-input.ts';
import { getKeyName } from '../keys.ts';
import { FIRST_ROW, requestFocus } from '../memories/requested-focus.ts';
import { getAddress, getCurrentParams, goTo, useRoute } from '../route.ts';

/** Pause in typing after which a question is sent; longer than the pause between two keys of a slow typist. */
const TYPING_PAUSE_MS = 400;
/** Pause in typing after which the list is filtered: a list answers words that are not finished, too. */
const FILTER_PAUSE_MS = 150;

const SEARCH_FIELD_ID = 'search';

/** Focuses the search field and selects its text. */
export function focusSearchField(): void {
  const field = document.getElementById(SEARCH_FIELD_ID);
  if (field instanceof HTMLInputElement) {
    field.focus();
    field.select();
  }
}

/**
 * The search field of all views. In Memories, it filters the memories by their text while the user types. In Recall, it
 * is the question. In other views, it searches the memories. Enter moves the focus to the first memory. The button, or Ctrl+Enter, asks instead of searching, or
 * searches instead of asking.
 */
export function SearchField() {
  const { view, params } = useRoute();
  const [isRecall, isMemories] = [view === 'recall', view === ''];
  const name = isRecall ? 'query' : 'q';
  const commit = (text: string) => {
    if (!isRecall && !isMemories) return;
    const changed = getCurrentParams();
    if (text === (changed.get(name) ?? '')) return;
    if (text === '') changed.delete(name);
    else changed.set(name, text);
    // On a narrow screen, the open memory would cover what was found.
    if (document.querySelector('main[inert]')) changed.delete('open');
    goTo(getAddress(view, changed), { replace: true });
  };
  const value = isRecall || isMemories ? (params.get(name) ?? '') : '';
  const [text, type, commitNow] = useDebouncedInput(value, commit, isRecall ? TYPING_PAUSE_MS : FILTER_PAUSE_MS);
  const search = () => goTo(getAddress('', { q: text.trim() }));
  const ask = () => goTo(getAddress('recall', { query: text.trim() }));
  const submit = () => {
    if (isRecall) {
      if (text.trim() === value) askAgain();
      return commitNow();
    }
    if (!isMemories && text.trim() === '') return;
    (isMemories ? commitNow : search)();
    requestFocus(FIRST_ROW);
  };
  const submitOther = () => {
    if (text.trim() !== '') (isRecall ? search : ask)();
  };
  return (
    <form
      className="search"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
        <path d="M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9zM10.3 10.3l3.2 3.2" />
      </svg>
      <input
        id={SEARCH_FIELD_ID}
        type="search"
        autoComplete="off"
        aria-label={isRecall ? 'Question' : 'Search'}
        placeholder={isRecall ? 'Ask a question or type a few words' : 'Search text, or ask …'}
        value={text}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          const name = getKeyName(event);
          const act = name === 'Ctrl+enter' ? submitOther : name === 'ArrowDown' && isMemories ? submit : undefined;
          if (!act) return;
          event.preventDefault();
          act();
        }}
      />
      {text.trim() === '' ? (
        <kbd>/</kbd>
      ) : (
        <button type="button" onClick={submitOther} title="Ctrl+Enter">
          {isRecall ? 'Search text' : 'Ask'}
        </button>
      )}
    </form>
  );
}
