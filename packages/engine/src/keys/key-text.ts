/** What every key begins with, so that people and scanners know one where they see it. */
const PREFIX = 'mmd';

const KEY = /^mmd_([0-9a-f]{16})_([0-9a-f]{64})$/;

/** The two parts of a key: a public id of 64 bits and a secret of 256, in hexadecimal digits. */
export interface KeyParts {
  id: string;
  secret: string;
}

/** A key as its holder shows it. */
export function keyText({ id, secret }: KeyParts): string {
  return `${PREFIX}_${id}_${secret}`;
}

/** The parts of a key; undefined for a text that is none. */
export function keyParts(text: string): KeyParts | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}
