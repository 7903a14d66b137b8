import type { MemoryClient } from '@memoryd/client';
import type { StatsResponse } from '@memoryd/contract';
import { getMessage } from '../error-text.ts';
import { NO_RESPONSE_ADVICE } from '../place-errors.ts';
import { getVariable } from '../settings/names.ts';
import { VERSION } from '../version.ts';
import { type Finding, formatBytes } from './finding.ts';

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
    return [health, ...compareVersions(version), ...model, ...(await checkAccess(client))];
  } catch (error) {
    return [{ check: 'service', state: 'problem', found: getMessage(error), advice: NO_RESPONSE_ADVICE }];
  }
}

function compareVersions(version: string): Finding[] {
  if (version === VERSION) return [];
  const found = `the service has version ${version}, and this command has version ${VERSION}`;
  return [{ check: 'service', state: 'warning', found, advice: 'use matching versions' }];
}

async function checkAccess(client: MemoryClient): Promise<Finding[]> {
  try {
    const stats = await client.stats({ timeoutMs: TIMEOUT_MS });
    return [{ check: 'service', state: 'ok', found: 'this caller may read memories' }, ...checkCache(stats)];
  } catch (error) {
    const advice = 'set SERVICE_API_KEY; create a key with memoryd keys add on the machine of the service';
    return [{ check: 'service', state: 'problem', found: getMessage(error), advice }];
  }
}

/** Share of the limit from which the cache of token states is full: the next states may not fit. */
const FULL_SHARE = 0.99;

/** Checks that the token states of all memories fit into memory. No findings for a caller that may not know. */
function checkCache({ token_states_cache: cache }: StatsResponse): Finding[] {
  if (cache === undefined) return [];
  const { memories, bytes, max_bytes: maxBytes } = cache;
  const found = `token states of ${memories} memories are in memory (${formatBytes(bytes)} of ${formatBytes(maxBytes)})`;
  if (bytes < FULL_SHARE * maxBytes) return [{ check: 'service', state: 'ok', found }];
  const advice = `raise ${getVariable('tokenStatesCacheBytes')} if the machine has the memory: recalls read the other states from the file`;
  return [{ check: 'service', state: 'warning', found: `${found}; the limit is reached`, advice }];
}
