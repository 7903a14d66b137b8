/*
 * The only import of TypeBox at runtime. The build bundles the 700 files of TypeBox into one, because resolving them
 * individually costs every process about 0.3 s.
 */
import { Settings } from 'typebox/system';

export * from 'typebox';
export { default } from 'typebox';
export { Compile } from 'typebox/compile';

// Enough errors to report every field of a request. A nullable field can produce three errors: one per type and one for
// the union.
Settings.Set({ maxErrors: 64 });
