import { Option } from 'commander';
import { SETTING_NAMES } from './names.ts';
import type { SettingKey } from './schema.ts';

const CONFIG_OPTION = new Option(
  '--config <file>',
  'Settings file. Default: memoryd.config.json in the working directory, if it exists.',
);

/** The keys of all settings except `url`, which only commands use. */
export const SERVICE_SETTINGS = SETTING_NAMES.map(({ key }) => key).filter((key) => key !== 'url');

/** Returns the command line options of settings, and the option `--config`. */
export function settingOptions(keys: readonly SettingKey[] = SERVICE_SETTINGS): Option[] {
  const options = SETTING_NAMES.filter(({ key }) => keys.includes(key)).map((name) => {
    const description = `${name.description} Default: ${name.defaultText}. Environment: ${name.env}.`;
    return new Option(`${name.flag} ${name.value}`, description.replaceAll('`', ''));
  });
  return [...options, CONFIG_OPTION];
}
