import type { MemoryClient } from '@memoryd/client';
import { getMessage } from '../message-of.ts';
import { NO_ANSWER_ADVICE } from '../no-answer.ts';
import { VERSION } from '../version.ts';
import type { Finding } from './finding.ts';

/** Longest wait for an answer: whoever asks a doctor has waited already. */
const PATIENCE_MS = 5000;

/** Whether a running service answers, works, and lets the key in. */
export async function checkService(client: MemoryClient, url: string): Promise<Finding[]> {
  try {
    const { status, version, embedder, embedder_problem: problem } = await client.health({ timeoutMs: PATIENCE_MS });
    const health: Finding =
      status === 'healthy'
        ? { check: 'service', state: 'ok', found: `memoryd ${version} at ${url} is healthy` }
        : { check: 'service', state: 'problem', found: `${url} cannot use its database`, advice: 'look at its log' };
    const model: Finding[] =
      embedder === 'unavailable'
        ? [{ check: 'model', state: 'warning', found: `${problem}`, advice: 'look at the log of the service' }]
        : [];
    return [health, ...getVersion(version), ...model, await accessTo(client)];
  } catch (error) {
    return [{ check: 'service', state: 'problem', found: getMessage(error), advice: NO_ANSWER_ADVICE }];
  }
}

function getVersion(version: string): Finding[] {
  if (version === VERSION) return [];
  const found = `the service is ${version}, this is ${VERSION}`;
  return [{ check: 'service', state: 'warning', found, advice: 'use matching versions' }];
}

async function accessTo(client: MemoryClient): Promise<Finding> {
  try {
    await client.stats({ timeoutMs: PATIENCE_MS });
    return { check: 'service', state: 'ok', found: 'it lets this caller read' };
  } catch (error) {
    const advice = 'give a key by SERVICE_API_KEY; memoryd keys add makes one where the service runs';
    return { check: 'service', state: 'problem', found: getMessage(error), advice };
  }
}
