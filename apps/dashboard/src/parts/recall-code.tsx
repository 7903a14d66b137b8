import type { RecallRequest } from '@memoryd/client';
import { SERVICE_URL, useService } from '../service.tsx';
import { getRecallCode, getRecallCurl } from '../snippets.ts';
import { CodeSample } from './code-sample.tsx';

/** The current recall request as code samples. */
export function RecallCode({ request }: { request: RecallRequest }) {
  const { hasKey } = useService();
  const target = { url: SERVICE_URL, hasKey };
  return (
    <details className="code">
      <summary>This request as code</summary>
      <CodeSample label="curl" code={getRecallCurl(target, request)} />
      <CodeSample label="TypeScript" code={getRecallCode(target, request)} />
    </details>
  );
}
