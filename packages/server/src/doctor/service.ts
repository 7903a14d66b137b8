import type { MemoryClient } from '@memoryd/client';
import { getMessage } from '../error-text.ts';
import { NO_RESPONSE_ADVICE } from '../place-errors.ts';
import { VERSION } from '../version.ts';
import type { Finding } from './finding.ts';

/** Request timeout, short because the user is waiting. */
const TIMEOUT_MS = 5000;

/** Checks that a running service responds, is healthy, and accepts the API key. */
export async function checkService(client: MemoryClient, url: string): Promise<Finding[]> {
  try {
    const { status, reason, version, ...models } = await client.health({ timeoutMs: TIMEOUT_MS });
    const health: Finding =
      status === 'healthy'
        ? { check: 'service', state: 'ok', found: `memoryd ${version} at ${url} is healthy` }
        : {
            check: 'service',
            state: 'problem',
            found: `${url} is unhealthy: ${reason}`,
            advice: 'check the log of the service',
          };
    const problems = [
      models.embedder === 'unavailable' && models.embedder_problem,
      models.reranker === 'unavailable' && models.reranker_problem,
    ];
    const model = problems.filter(Boolean).map((found): Finding => {
      return { check: 'model', state: 'warning', found: `${found}`, advice: 'check the log of the service' };
    });
    return [health, ...compareVersions(version), ...model, await checkAccess(client)];
  } catch (error) {
    return [{ check: 'service', state: 'problem', found: getMessage(error), advice: NO_RESPONSE_ADVICE }];
  }
}

function compareVersions(version: string): Finding[] {
  if (version === VERSION) return [];
  const found = `the service has version ${version}, and this command has version ${VERSION}`;
  return [{ check: 'service', state: 'warning', found, advice: 'use matching versions' }];
}

async function checkAccess(client: MemoryClient): Promise<Finding> {
  try {
    await client.stats({ timeoutMs: TIMEOUT_MS });
    return { check: 'service', state: 'ok', found: 'this caller may read memories' };
  } catch (error) {
    const advice = 'set SERVICE_API_KEY; create a key with memoryd keys add on the machine of the service';
    return { check: 'service', state: 'problem', found: getMessage(error), advice };
  }
}
