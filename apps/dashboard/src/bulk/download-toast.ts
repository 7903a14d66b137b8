import { saveFile } from '../admin/download.ts';
import { getMessage } from './many-changes.ts';
import { removeToast, showToast, toasts } from './toasts.ts';

const DONE_SHOWN_MS = 8000;

interface DownloadRequest {
  /** Identifies the download. A second one does not start before the first has ended. */
  key: string;
  /** Name of the file. */
  name: string;
  /** Reads the content of the file. `show` shows the progress. */
  read: (signal: AbortSignal, show: () => void) => AsyncIterable<string | Uint8Array>;
  /** Returns the message while the download goes on. `bytes`: those that have arrived. */
  describe: (bytes: number) => string;
  /** Returns the message about the saved file. */
  describeSaved: () => string;
  onError?: (error: unknown) => void;
}

/**
 * Saves a download as a file, while the person works on. A toast shows the progress, and can cancel. The download ends
 * when the person signs out, so that the next person does not get the file.
 */
export async function download(request: DownloadRequest): Promise<void> {
  const { key, name, read, describe, describeSaved } = request;
  if (toasts.get().some((one) => one.key === key && one.isUnfinished)) return;
  const controller = new AbortController();
  const { signal } = controller;
  const remove = () => removeToast(key);
  const cancel = () => {
    controller.abort();
    remove();
  };
  const dismiss = { label: 'Dismiss', act: remove };
  const show = (bytes = 0) => {
    if (signal.aborted) return;
    const actions = [{ label: 'Cancel', act: cancel }];
    showToast({ key, text: describe(bytes), actions, abandon: cancel, isUnfinished: true });
  };
  show();
  try {
    await saveFile(name, read(signal, show), show);
    showToast({ key, text: describeSaved(), actions: [dismiss], shownMs: DONE_SHOWN_MS });
  } catch (error) {
    if (signal.aborted) return;
    request.onError?.(error);
    const again = { label: 'Try again', act: () => download(request) };
    showToast({ key, text: `Not saved: ${getMessage(error)}`, isError: true, actions: [again, dismiss] });
  }
}
