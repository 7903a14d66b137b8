import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { KEYS } from '../apps/dashboard/src/keys.ts';

it('the guide lists each key of the dashboard', () => {
  const guide = readFileSync(new URL('./guide/dashboard.md', import.meta.url), 'utf8');
  const rows = KEYS.map(
    ({ room, keys, does }) => `| ${room} | ${keys.map((key) => `\`${key}\``).join(' ')} | ${does} |`,
  );
  expect(guide.slice(guide.indexOf('## Keys')).match(/^\| (?!room|---).+$/gm)).toEqual(rows);
});
