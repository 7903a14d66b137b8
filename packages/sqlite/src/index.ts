export { hasLog } from './file.ts';
export { openSqlite } from './open.ts';
export { backUpFile, placeFile, restoreFile } from './restore-file.ts';
export { type Verified, type VerifyStage, verifyFile } from './verify-file.ts';
