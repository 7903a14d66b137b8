import { ENGINE_SETTING_NAMES } from '@memoryd/engine/defaults';
import type { Settings } from './read.ts';

type EngineSetting = Extract<keyof Settings, (typeof ENGINE_SETTING_NAMES)[number]>;

/** Returns only the settings of the engine, which refuses unknown options. */
export function engineSettings(settings: Settings): Pick<Settings, EngineSetting> {
  const names: readonly string[] = ENGINE_SETTING_NAMES;
  const own = Object.entries(settings).filter(([name]) => names.includes(name));
  return Object.fromEntries(own) as Pick<Settings, EngineSetting>;
}

/**
 * Returns the engine settings without an embedder. Omits the settings that the engine refuses without an embedding
 * model.
 */
export function engineSettingsWithoutModel(settings: Settings): Pick<Settings, EngineSetting> {
  const {
    embeddingQueryPrefix,
    embeddingPassagePrefix,
    embeddingPooling,
    embeddingQueryInputType,
    embeddingPassageInputType,
    ...others
  } = engineSettings(settings);
  return { ...others, embedder: 'none' };
}
