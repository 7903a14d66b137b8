import { useState } from 'preact/compat';
import { capitalize } from '../format.ts';
import { getTheme, setTheme, THEMES } from '../theme.ts';

export function ThemeSwitch() {
  const [current, setCurrent] = useState(getTheme);
  return (
    <fieldset className="switch">
      <legend className="hidden">Theme</legend>
      {THEMES.map((theme) => (
        <label key={theme}>
          <input
            type="radio"
            name="theme"
            checked={current === theme}
            onChange={() => {
              setTheme(theme);
              setCurrent(theme);
            }}
          />
          <span>{capitalize(theme)}</span>
        </label>
      ))}
    </fieldset>
  );
}
