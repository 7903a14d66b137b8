import { type SettingKey, SettingsSchema } from './schema.ts';

/** The names of a setting on the command line, in the environment and in a settings file, with its documentation. */
export interface SettingName {
  /** The name in a settings file. */
  key: SettingKey;
  flag: string;
  env: string;
  /** Placeholder for the flag's value, such as `<number>`. */
  value: string;
  description: string;
  /** The default value as shown in the help and on the reference page. */
  defaultText: string;
}

/** Options in the schema of a setting: its type, its values, its default and its documentation. */
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
    value: `<${getPlaceholder(options)}>`,
    description: options.description ?? '',
    defaultText: options['x-default-text'] ?? `\`${options.default}\``,
  };
});

function getPlaceholder(options: SettingOptions): string {
  if (options['x-value']) return options['x-value'];
  if (options.enum) return options.enum.join('|');
  if (options.type === 'integer') return 'number';
  if (options.type === 'boolean') return 'true|false';
  return options.type === 'array' ? 'list' : 'text';
}

/** Returns the environment variable of a setting. */
export function getVariable(key: SettingKey): string {
  return SETTING_NAMES.find((name) => name.key === key)?.env as string;
}
