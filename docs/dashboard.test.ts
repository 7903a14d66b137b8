import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { KEYS } from '../apps/dashboard/src/keys.ts';

it('the guide lists each key of the dashboard', () => {
  const guide = readFileSync(new URL('./guide/dashboard.md', import.meta.url), 'utf8');
  const rows = Object.entries(KEYS).flatMap(([place, keys]) =>
    keys.map(([names, effect]) => `| ${place} | \`${names.replaceAll(', ', '` `')}\` | ${effect} |`),
  );
  expect(guide.slice(guide.indexOf('## Keys')).match(/^\| (?!where|---).+$/gm)).toEqual(rows);
});
