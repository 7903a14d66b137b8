/*
 * TypeBox, of which everything that runs imports this one copy: the build makes a single file of its 700, which every
 * process would take a third of a second to find.
 */
export * from 'typebox';
export { default } from 'typebox';
export { Compile } from 'typebox/compile';
