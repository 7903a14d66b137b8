import { getStored, setStored } from './browser-storage.ts';
import { useMedia } from './media.ts';
import { createStore } from './store.ts';

/** `auto` follows the operating system. */
export type Theme = 'auto' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

const STORAGE_NAME = 'memoryd-theme';

/** The theme chosen in this browser; `auto` by default. */
export const chosenTheme = createStore<Theme>(
  THEMES.find((theme) => theme === getStored('localStorage', STORAGE_NAME)) ?? 'auto',
);

/** Applies a theme and stores it for the next visit. */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  setStored('localStorage', STORAGE_NAME, theme);
  chosenTheme.set(theme);
}

/** Returns the colors that the page shows now, and rerenders the component when they change. */
export function useShownTheme(): 'light' | 'dark' {
  const isDarkSystem = useMedia('(prefers-color-scheme: dark)');
  const theme = chosenTheme.use();
  if (theme === 'auto') return isDarkSystem ? 'dark' : 'light';
  return theme;
}
