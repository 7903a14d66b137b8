import { Option } from 'commander';
import { SETTING_NAMES } from './names.ts';
import type { SettingKey } from './schema.ts';

/** The option that names a settings file. */
const CONFIG_OPTION = new Option(
  '--config <file>',
  'Settings file; memoryd.config.json in the working directory where absent.',
);

/** Every setting of the service. */
export const SERVICE_SETTINGS = SETTING_NAMES.map(({ key }) => key).filter((key) => key !== 'url');

/** The flags that settings have on a command line, and the one that names a settings file. */
export function settingOptions(keys: readonly SettingKey[] = SERVICE_SETTINGS): Option[] {
  const options = SETTING_NAMES.filter(({ key }) => keys.includes(key)).map((name) => {
    const description = `${name.description} Default: ${name.defaultText}. Environment: ${name.env}.`;
    return new Option(`${name.flag} ${name.value}`, description.replaceAll('`', ''));
  });
  return [...options, CONFIG_OPTION];
}
