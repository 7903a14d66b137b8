/** A ref that focuses an element when it appears. Browsers apply the `autofocus` attribute only once per document. */
export const focusOnMount = (element: HTMLElement | null): void => element?.focus();
