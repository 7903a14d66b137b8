import { describe, expect, it } from 'vitest';
import { isAbsolute, isInFolder, readProject, toFolderProject, toProjectTag } from './project.ts';

describe('readProject', () => {
  it.each([
    ['github.com/ada/garden', 'github.com/ada/garden'],
    ['https://github.com/ada/garden.git', 'github.com/ada/garden'],
    ['https://ada:secret@GitHub.com/ada/garden/', 'github.com/ada/garden'],
    ['ada:secret@github.com/ada/garden', 'github.com/ada/garden'],
    ['git@github.com:ada/garden.git', 'github.com/ada/garden'],
    ['ssh://git@host.example:2222/ada/garden', 'host.example:2222/ada/garden'],
    ['https://host.example/ada/garden?token=secret#x', 'host.example/ada/garden'],
    ['host.example/@ada/garden', 'host.example/@ada/garden'],
    ['host.example/花园', 'host.example/花园'],
  ])('reads the remote %s as %s', (remote, id) => {
    expect(readProject(encodeURIComponent(remote), undefined)?.id).toBe(id);
  });

  it.each([undefined, '', '%', '%ff', '%00', 'a%0Ab', 'x'.repeat(513), '/', 'https://'])('ignores %j', (remote) => {
    expect(readProject(remote, 'main')).toBeUndefined();
  });

  it('ignores a malformed branch, and keeps the project', () => {
    expect(readProject('host/garden', 'feature%2Fgate')).toEqual({ id: 'host/garden', branch: 'feature/gate' });
    for (const branch of ['%', 'x'.repeat(257), '']) {
      expect(readProject('host/garden', branch)).toEqual({ id: 'host/garden' });
    }
  });
});

describe('toFolderProject', () => {
  it('names a folder by its last part and a digest of its path', () => {
    const garden = toFolderProject('/home/ada/garden');
    expect(garden?.id).toMatch(/^garden-[0-9a-f]{8}$/);
    expect(toFolderProject('/home/ada/garden//')).toEqual(garden);
    expect(toFolderProject('/home/ben/garden')).not.toEqual(garden);
    expect(toFolderProject('/home/ada/Garden')).not.toEqual(garden);
    expect(toFolderProject('/')).toBeUndefined();
    expect(toFolderProject('')).toBeUndefined();
  });

  it('names a folder of Windows in any case and with either slash', () => {
    const garden = toFolderProject('C:\\Users\\Ada\\Garden');
    expect(garden?.id).toMatch(/^garden-[0-9a-f]{8}$/);
    for (const path of ['c:\\users\\ada\\garden\\', 'C:/Users/Ada/Garden/', '/c:/Users/Ada/Garden'])
      expect(toFolderProject(path)).toEqual(garden);
    expect(toFolderProject('\\\\server\\share\\Garden')?.id).toMatch(/^garden-/);
    expect(toFolderProject('C:\\')?.id).toMatch(/^c:-/);
  });
});

describe('toProjectTag', () => {
  it('returns the last part of a remote or the name of a folder, within the length of a tag', () => {
    expect(toProjectTag({ id: 'github.com/ada/garden-00000000' })).toBe('project:garden-00000000');
    expect(toProjectTag({ id: 'garden' })).toBe('project:garden');
    expect(toProjectTag(toFolderProject('/home/ada/my garden') ?? { id: '' })).toBe('project:my garden');
    expect(toProjectTag(toFolderProject(`/${'😀'.repeat(200)}`) ?? { id: '' })).toBe(`project:${'😀'.repeat(60)}`);
  });
});

describe('isAbsolute', () => {
  it.each(['/srv', 'C:\\Users', 'c:/Users', '/c:/Users', '\\\\host\\share', 'file:///srv'])(
    'returns true for %s',
    (folder) => {
      expect(isAbsolute(folder)).toBe(true);
    },
  );

  it.each(['srv/private', '.', '~/private', ''])('returns false for %j', (folder) => {
    expect(isAbsolute(folder)).toBe(false);
  });
});

describe('isInFolder', () => {
  it.each([
    ['/home/ada/private', '/home/ada/private', true],
    ['/home/ada/private/', '/home/ada/private', true],
    ['/home/ada/private/notes', '/home/ada/private/', true],
    ['/home/ada/private-not', '/home/ada/private', false],
    ['/home/ada', '/home/ada/private', false],
    ['/home/ada', '/', true],
    ['C:\\Users\\Ada\\Private\\notes', 'c:/users/ada/private', true],
    ['C:\\Users\\Ada\\Private2', 'C:\\Users\\Ada\\Private', false],
    ['D:\\Users', 'C:\\', false],
    ['C:\\Users', 'C:\\', true],
    ['/Users/Ada/Private/notes', '/Users/ada/private', true],
    ['/c:/Users/Ada/Private', 'C:\\Users\\Ada\\Private', true],
    ['\\\\?\\C:\\Users\\Ada\\Private\\x', 'C:\\Users\\Ada\\Private', true],
    ['/home/ada/private \n', '/home/ada/private', true],
    ['file:///home/ada/my%20notes/x', '/home/ada/my notes', true],
    ['file:///c%3A/Users/Ada', 'C:\\Users\\Ada', true],
    ['vscode-remote://wsl+debian/home/ada/private', '/home/ada/private', true],
    ['file:///home/100%/ada', '/home/100%', true],
    ['//Server/Share/Private', '\\\\server\\share', true],
    ['/home/ada/caf\u00e9', '/home/ada/cafe\u0301', true],
    ['/home/ada/private/../public', '/home/ada/private', false],
    ['/home/ada/public/../private/x', '/home/ada/private', true],
  ])('returns for %s in %s the value %s', (path, folder, expected) => {
    expect(isInFolder(path, folder)).toBe(expected);
  });
});
