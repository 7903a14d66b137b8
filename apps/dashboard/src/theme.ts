import { keep, kept } from './kept.ts';

/** How the page looks: as the system does, or one way always. */
export type Theme = 'auto' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

const KEPT_AS = 'memoryd-theme';

/** The theme that was chosen in this browser; `auto` where none was. */
export function chosenTheme(): Theme {
  const chosen = kept('localStorage', KEPT_AS);
  return THEMES.find((theme) => theme === chosen) ?? 'auto';
}

/** Shows the page in a theme, and keeps it for the next visit. */
export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  keep('localStorage', KEPT_AS, theme);
}
