import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SETTING_NAMES } from '../settings/names.ts';
import { settingsPage } from './settings.ts';

it('docs/reference/settings.md matches the output of `npm run settings-page --workspace memoryd`', () => {
  const page = readFileSync(new URL('../../../../docs/reference/settings.md', import.meta.url), 'utf8');
  expect(page).toBe(settingsPage());
});

it('the settings page lists every flag, variable and key', () => {
  const page = settingsPage();
  for (const { key, flag, env } of SETTING_NAMES) {
    expect(page).toMatch(new RegExp(`\`${flag} <.*\`${env}\`.*\`${key}\``));
  }
});
