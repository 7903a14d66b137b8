/**
 * A ref callback that focuses an element when it is mounted. Browsers apply the `autofocus` attribute only once per
 * document.
 */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus();

/** A ref callback that focuses a text field when it is mounted, with the caret at its end. */
export const focusEndOnMount = (field: HTMLTextAreaElement | null): void => {
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
};

/** Returns a handler of a button that may remove the button. The view gets its focus then. */
export const removingButton = (act: () => void) => () => {
  act();
  setTimeout(() => {
    if (document.activeElement === document.body) document.querySelector('main')?.focus({ preventScroll: true });
  });
};
