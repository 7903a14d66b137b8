// Writes docs/reference/cli.md from the commands of the built package.
import { mkdirSync, writeFileSync } from 'node:fs';
import { commandsPage } from '../dist/reference-pages/commands.js';

const page = new URL('../../../docs/reference/cli.md', import.meta.url);
mkdirSync(new URL('.', page), { recursive: true });
writeFileSync(page, commandsPage());
