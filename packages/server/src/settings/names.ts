import { type SettingKey, SettingsSchema } from './schema.ts';

/** One setting as it is written on the command line, in the environment, in a settings file and on the reference page. */
export interface SettingName {
  /** Its name in a settings file. */
  key: SettingKey;
  flag: string;
  env: string;
  /** Shape of the flag's value, such as `<number>`. */
  value: string;
  description: string;
  /** The default as the reference page shows it. */
  defaultText: string;
}

/** What of a setting's schema its names and its values follow from. */
export interface SettingOptions {
  type?: string;
  enum?: string[];
  default?: string | number | boolean;
  description?: string;
  'x-default-text'?: string;
  'x-value'?: string;
}

/** The settings in the order of the reference page. */
export const SETTING_NAMES: readonly SettingName[] = Object.entries(SettingsSchema.properties).map(([key, schema]) => {
  const options = schema as SettingOptions;
  const words = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return {
    key: key as SettingKey,
    flag: `--${words}`,
    env: `SERVICE_${words.replaceAll('-', '_').toUpperCase()}`,
    value: `<${valueShape(options)}>`,
    description: options.description ?? '',
    defaultText: options['x-default-text'] ?? `\`${options.default}\``,
  };
});

function valueShape(options: SettingOptions): string {
  if (options['x-value']) return options['x-value'];
  if (options.enum) return options.enum.join('|');
  if (options.type === 'integer') return 'number';
  if (options.type === 'boolean') return 'true|false';
  return options.type === 'array' ? 'list' : 'text';
}

/** The environment variable of a setting. */
export function getVariable(key: SettingKey): string {
  return SETTING_NAMES.find((name) => name.key === key)?.env as string;
}
