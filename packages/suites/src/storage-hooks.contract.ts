import { describe, expect, it } from 'vitest';
import type { TestedStorage } from './storage.fixture.ts';
import { NOW, nextMemory } from './storage.fixture.ts';

const DEFAULT = { paused: false, ignored_folders: [] };
const FOLDERS = ['/home/ada/private', 'C:\\Users\\Ada\\ünï "quoted"'];

/** Contract tests of the `HookStorage` port. */
export function hookStorageContract(tested: TestedStorage): void {
  const change = (userId: string, settings: object, namespace = 'default') =>
    tested.storage.changeHookSettings(namespace, userId, settings);
  const read = (userId: string, namespace = 'default') => tested.storage.hookSettings(namespace, userId);

  describe('hook settings', () => {
    it('hook settings are not paused and without folders until they are changed, each on its own', async () => {
      expect(await read('ada')).toEqual(DEFAULT);
      expect(await change('ada', { ignored_folders: FOLDERS })).toEqual({ paused: false, ignored_folders: FOLDERS });
      expect(await change('ada', { paused: true })).toEqual({ paused: true, ignored_folders: FOLDERS });
      await tested.reopen();
      expect(await read('ada')).toEqual({ paused: true, ignored_folders: FOLDERS });
      expect(await change('ada', { ignored_folders: [] })).toEqual({ paused: true, ignored_folders: [] });
      expect(await change('ada', { paused: false })).toEqual(DEFAULT);
      expect(await tested.storage.allHookSettings('default')).toEqual([]);
      expect(await tested.storage.usage(NOW)).toEqual([]);
    });

    it('hook settings of a user, of no user and of other namespaces are separate', async () => {
      await change('ben', { paused: true });
      await change('', { ignored_folders: FOLDERS });
      await change('ada', { paused: true }, 'other');
      expect(await read('ada')).toEqual(DEFAULT);
      expect(await tested.storage.allHookSettings('default')).toEqual([
        { userId: '', paused: false, ignored_folders: FOLDERS },
        { userId: 'ben', paused: true, ignored_folders: [] },
      ]);
      expect((await tested.storage.usage(NOW)).map(({ name }) => name)).toEqual(['default', 'other']);
    });

    it('hook settings of a user stay when all memories of the user are forgotten, so that nothing is recorded again', async () => {
      const settings = { paused: true, ignored_folders: FOLDERS };
      await change('ada', settings);
      await tested.storage.store(nextMemory({ userId: 'ada' }));
      await tested.storage.forgetMany('default', { userIds: ['ada'] });
      expect(await read('ada')).toEqual(settings);
    });

    it('hook settings of a namespace are deleted with the namespace', async () => {
      for (const namespace of ['default', 'other']) await change('ada', { paused: true }, namespace);
      await tested.storage.deleteNamespace('default');
      expect(await read('ada')).toEqual(DEFAULT);
      expect(await read('ada', 'other')).toMatchObject({ paused: true });
    });
  });
}
