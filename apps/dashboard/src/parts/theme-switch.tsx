import { useState } from 'react';
import { chooseTheme, chosenTheme, THEMES } from '../theme.ts';

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <fieldset className="switch">
      <legend className="hidden">Theme</legend>
      {THEMES.map((one) => (
        <label key={one}>
          <input
            type="radio"
            name="theme"
            checked={theme === one}
            onChange={() => {
              chooseTheme(one);
              setTheme(one);
            }}
          />
          <span>{one}</span>
        </label>
      ))}
    </fieldset>
  );
}
