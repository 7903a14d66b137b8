/**
 * A ref callback that focuses an element when it is mounted. Browsers apply the `autofocus` attribute only once per
 * document.
 */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus();
