/** Shortest password that is taken for one, in characters. */
const SHORTEST = 8;

/** What stands where a secret would: a variable, a blank to fill in, or what an earlier redaction left. */
const PLACEHOLDER = /^(?:\$|%|<|\{|\[redacted:|\*+$|[xX]+$|\.+$)/;

export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** Letters and digits in one piece, at least so many, as they are in keys and not in words, dates, versions or numbers. */
const mixed = (least: number) =>
  new RegExp(`(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{${least}}`);

const MIXED_6 = mixed(6);
const MIXED_8 = mixed(8);
const MIXED_12 = mixed(12);

/** Whether what has the beginning of a token is one, rather than words with hyphens. */
export function looksLikeToken(value: string): boolean {
  return MIXED_8.test(value);
}

/** Whether a value that is called a password is one, rather than the next word of a sentence. */
export function looksLikePassword(value: string): boolean {
  if (value.length < SHORTEST || isPlaceholder(value)) return false;
  return MIXED_6.test(value) || (/[0-9]/.test(value) && /[A-Za-z]/.test(value) && /[!@#$%^&*+~?|=]/.test(value));
}

/** Whether a value that is called a key, a secret or a token is one. */
export function looksLikeKey(value: string): boolean {
  return !isPlaceholder(value) && MIXED_12.test(value);
}
