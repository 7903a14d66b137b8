import type { RecallRequest } from '@memoryd/client';
import { SERVICE_URL, useService } from '../service.tsx';
import { CodeSample } from './code-sample.tsx';

/** The request that was just made, to be made elsewhere. A key is named, never shown. */
export function RecallCode({ request }: { request: RecallRequest }) {
  const { hasKey } = useService();
  return (
    <details className="code">
      <summary>This request as code</summary>
      <CodeSample label="curl" code={toCurl(request, hasKey)} />
      <CodeSample label="client" code={toClientCode(request, hasKey)} />
    </details>
  );
}

/** Quoting needs no care: what is percent-encoded holds no quote. */
function toCurl({ metadata = {}, tag = [], ...rest }: RecallRequest, hasKey: boolean): string {
  const query = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, String(value)]));
  for (const one of tag) query.append('tag', one);
  for (const [key, value] of Object.entries(metadata)) query.append(`metadata.${key}`, value);
  const key = hasKey ? ' \\\n  -H "Authorization: Bearer $MEMORYD_API_KEY"' : '';
  return `curl -s '${SERVICE_URL}/recall?${query}'${key}`;
}

function toClientCode(request: RecallRequest, hasKey: boolean): string {
  const key = hasKey ? ', apiKey: process.env.MEMORYD_API_KEY' : '';
  return `import { MemoryClient } from '@memoryd/client';

const memory = new MemoryClient({ url: ${JSON.stringify(SERVICE_URL)}${key} });
const { results } = await memory.recall(${JSON.stringify(request, null, 2)});
for (const { score, content } of results) console.log(score, content);`;
}
