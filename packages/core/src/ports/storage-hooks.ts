import type { HookSettings, HookSettingsChange } from '@memoryd/contract';

/** The hook settings of a user of a namespace. `userId` is empty for settings of no user. */
export interface OwnedHookSettings extends HookSettings {
  userId: string;
}

/** Stores the settings of users for the hooks of agent programs. They stay when all memories of a user are forgotten. */
export interface HookStorage {
  /** Returns the settings of a user, or of no user for an empty `userId`. Not paused and without folders by default. */
  hookSettings(namespace: string, userId: string): Promise<HookSettings>;
  /** Returns all settings of a namespace that are not the default, ordered by user. */
  allHookSettings(namespace: string): Promise<OwnedHookSettings[]>;
  /**
   * Changes the settings that are present in `change`, and returns all settings of the user. Returns undefined and
   * changes nothing if `LIMITS.hookUsers` other users of the namespace have settings.
   */
  changeHookSettings(namespace: string, userId: string, change: HookSettingsChange): Promise<HookSettings | undefined>;
}
