/** The first characters of the tag that names the project of a memory. */
export const PROJECT_TAG = 'project:';
