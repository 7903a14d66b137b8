import { statSync } from 'node:fs';
import { loadSettings, settingsPath } from '../settings/file.ts';
import type { Environment, Flags, Settings } from '../settings/read.ts';
import { unknownVariables } from '../settings/unknown.ts';
import { UsageError } from '../usage-error.ts';
import type { Finding } from './finding.ts';

/** Loads and checks the settings. The field `settings` is absent if the settings cannot be loaded. */
export function checkSettings(flags: Flags, env: Environment): { settings?: Settings; findings: Finding[] } {
  const unknown = unknownVariables(env).map(
    (found): Finding => ({ check: 'settings', state: 'warning', found, advice: 'correct its name, or remove it' }),
  );
  try {
    const settings = loadSettings(flags, env);
    const path = settingsPath(flags);
    const found = path === undefined ? 'flags, variables and defaults are valid' : `${path} is valid`;
    return {
      settings,
      findings: [{ check: 'settings', state: 'ok', found }, ...unknown, ...checkPermissions(path, settings)],
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const advice = 'correct the setting; memoryd serve --help lists all settings';
    return { findings: [{ check: 'settings', state: 'problem', found: error.message, advice }, ...unknown] };
  }
}

/** Warns if other users may read a settings file while keys are set. */
function checkPermissions(
  path: string | undefined,
  { apiKey, embeddingApiKey, llmApiKey, rerankApiKey }: Settings,
): Finding[] {
  const holdsKeys = [apiKey, embeddingApiKey, llmApiKey, rerankApiKey].some(Boolean);
  if (path === undefined || !holdsKeys || process.platform === 'win32') return [];
  if ((statSync(path).mode & 0o077) === 0) return [];
  const found = `other users of the machine may read ${path}, and keys are set`;
  return [{ check: 'settings', state: 'warning', found, advice: `chmod 600 ${path}` }];
}
