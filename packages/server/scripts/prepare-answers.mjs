// Writes dist/memoryd-front.json, the answers of `memoryd mcp` that need no memories.
import { writeFileSync } from 'node:fs';
import { prepareAnswers } from '../dist/mcp-front/prepare.js';

writeFileSync(new URL('../dist/memoryd-front.json', import.meta.url), JSON.stringify(await prepareAnswers()));
