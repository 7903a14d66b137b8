/*
 * TypeBox, of which everything that runs imports this one copy: the build makes a single file of its 700, which every
 * process would take a third of a second to find.
 */
import { Settings } from 'typebox/system';

export * from 'typebox';
export { default } from 'typebox';
export { Compile } from 'typebox/compile';

/** As many as a request has fields, each of which may have three: one of each type that it may have, and one of both. */
Settings.Set({ maxErrors: 64 });
