import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { loadModel } from '@memoryd/minilm';
import { BUILT_FOLDER, MODEL_FILES } from '@memoryd/minilm/files';
import { packTable } from '../table.ts';
import { getNearest, readVocabulary } from './vocabulary.ts';

/*
 * Builds the table of English synonyms, which takes some minutes. Embeds each word of `readVocabulary` alone with the
 * bundled model. The nearest words become the synonyms of the word. Run this script when the model or the stemming has
 * changed.
 */
const words = await readVocabulary(join(BUILT_FOLDER, MODEL_FILES.tokenizer));
const model = await loadModel(BUILT_FOLDER);
const parts = await model([...words.values()], async () => {});
const vectors = parts.map(({ vector }) => vector);
const table = packTable([...words.keys()], [...getNearest(vectors)]);
await writeFile(createRequire(import.meta.url).resolve('@memoryd/search/synonyms/english'), table);
