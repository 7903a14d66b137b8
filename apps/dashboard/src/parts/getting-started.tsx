import { SERVICE_URL, useService } from '../service.tsx';
import { getMcpConfig, getStoreCode, getStoreCurl } from '../snippets.ts';
import { AddMemoryForm } from './add-memory-form.tsx';
import { CodeSample } from './code-sample.tsx';

const EXAMPLE = { user_id: 'ada', content: 'Ada is allergic to peanuts', session_id: 'kitchen' };
const EXAMPLE_RECALL = { user_id: 'ada', query: 'Can Ada eat peanut butter?' };

/** Shows two ways to store the first memory: a form, and code samples with the address of this service. */
export function GettingStarted({ onStored }: { onStored: (id: string) => void }) {
  const { hasKey } = useService();
  const target = { url: SERVICE_URL, hasKey };
  return (
    <>
      <p>No memories are stored yet. Add a memory here or from your own code. The table then replaces this page.</p>
      <div className="first-run">
        <AddMemoryForm onStored={onStored} />
        <section aria-labelledby="code-title">
          <h2 id="code-title">Store a memory from your code</h2>
          <CodeSample label="curl" code={getStoreCurl(target, EXAMPLE)} />
          <CodeSample label="TypeScript" code={getStoreCode(target, EXAMPLE, EXAMPLE_RECALL)} />
          <CodeSample label="MCP (.mcp.json)" code={getMcpConfig(target)} />
        </section>
      </div>
    </>
  );
}
