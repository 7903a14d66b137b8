import { capitalize } from '../format.ts';
import { chosenTheme, setTheme, THEMES } from '../theme.ts';

export function ThemeSwitch() {
  const current = chosenTheme.use();
  return (
    <fieldset className="switch">
      <legend className="hidden">Theme</legend>
      {THEMES.map((theme) => (
        <label key={theme}>
          <input type="radio" name="theme" checked={current === theme} onChange={() => setTheme(theme)} />
          <span>{capitalize(theme)}</span>
        </label>
      ))}
    </fieldset>
  );
}
