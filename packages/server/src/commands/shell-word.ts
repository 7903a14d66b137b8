/** Returns a word as a person can paste it into a command line of the platform's shell. */
export function toShellWord(word: string, platform: NodeJS.Platform = process.platform): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  return platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", "'\\''")}'`;
}
