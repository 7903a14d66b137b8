import japanese from 'opencc-js/dict/JPShinjitaiCharacters';
import traditional from 'opencc-js/dict/TSCharacters';

/** Matches one Han character. */
export const HAN = /^\p{sc=Han}$/u;

/** Reads a dictionary of OpenCC: characters, each with its replacements, the most frequent first. */
function readDictionary(dictionary: string): Map<string, string> {
  const pairs = dictionary.split('|').map((entry) => entry.split(' ') as [string, string]);
  return new Map(pairs);
}

const simplified = readDictionary(traditional);
const olderForms = readDictionary(japanese);

/**
 * Returns the simplified Chinese form of a Han character in traditional Chinese or in Japanese; the character itself if
 * no such form is known. Characters of different words can have the same form.
 */
export function foldHan(character: string): string {
  const known = simplified.get(character);
  if (known !== undefined) return known;
  const older = olderForms.get(character);
  return older === undefined ? character : (simplified.get(older) ?? older);
}
