import { rmSync } from 'node:fs';
import { type CopyTask, copy } from './copy-task.ts';
import { attemptAll } from './file-failure.ts';

/*
 * The process that makes one copy and ends. It is a process, since a statement that copies a whole file can be stopped
 * only by ending whoever runs it.
 */
process.once('message', async (task: CopyTask) => {
  process.send?.(await attemptAll(() => copy(task)), (error: Error | null) => {
    // Nobody is there any more who would take it.
    if (error) rmSync(task.to, { force: true });
    process.exit();
  });
});
