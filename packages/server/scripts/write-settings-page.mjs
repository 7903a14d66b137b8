// Writes docs/reference/settings.md from the settings of the built package.
import { mkdirSync, writeFileSync } from 'node:fs';
import { settingsPage } from '../dist/reference-pages/settings.js';

const page = new URL('../../../docs/reference/settings.md', import.meta.url);
mkdirSync(new URL('.', page), { recursive: true });
writeFileSync(page, settingsPage());
