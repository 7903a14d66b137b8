export { propertyRuns } from './property-runs.fixture.ts';
export { getWordMatches } from './ranking/bm25.ts';
export { SynonymTable } from './synonyms/table.ts';
