import { getStored, setStored } from './browser-storage.ts';

/** `auto` follows the operating system. */
export type Theme = 'auto' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

const STORAGE_NAME = 'memoryd-theme';

/** Returns the theme chosen in this browser; `auto` by default. */
export function getTheme(): Theme {
  const stored = getStored('localStorage', STORAGE_NAME);
  return THEMES.find((theme) => theme === stored) ?? 'auto';
}

/** Applies a theme and stores it for the next visit. */
export function setTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  setStored('localStorage', STORAGE_NAME, theme);
}
