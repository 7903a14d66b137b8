import { rmSync } from 'node:fs';
import { type CopyTask, copy } from './copy-task.ts';
import { attemptAsync } from './failure.ts';

/*
 * A process that creates one copy and exits. A separate process is needed, because the statement that copies a whole
 * file can be stopped only by killing its process.
 */
process.once('message', async (task: CopyTask) => {
  process.send?.(await attemptAsync(() => copy(task)), (error: Error | null) => {
    // The parent process has ended, so the copy would never be used.
    if (error) rmSync(task.to, { force: true });
    process.exit();
  });
});
