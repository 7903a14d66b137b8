import { ENGINE_SETTING_NAMES } from '@memoryd/engine/defaults';
import type { Settings } from './read.ts';

type EngineSetting = Extract<keyof Settings, (typeof ENGINE_SETTING_NAMES)[number]>;

/** Those settings that are the engine's, which refuses what it does not know. */
export function engineSettings(settings: Settings): Pick<Settings, EngineSetting> {
  const names: readonly string[] = ENGINE_SETTING_NAMES;
  const own = Object.entries(settings).filter(([name]) => names.includes(name));
  return Object.fromEntries(own) as Pick<Settings, EngineSetting>;
}

/** Returns the same settings for an engine that embeds nothing, and so refuses settings of a model. */
export function engineSettingsWithoutModel(settings: Settings): Pick<Settings, EngineSetting> {
  const { embeddingQueryPrefix, embeddingPassagePrefix, embeddingPooling, ...others } = engineSettings(settings);
  return { ...others, embedder: 'none' };
}
