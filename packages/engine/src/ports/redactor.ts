/** A text without the secrets that were found in it, and the kind of each, in their order. */
interface Redaction {
  text: string;
  /** Such as `github-token`: lower-case letters and hyphens. */
  kinds: string[];
}

/**
 * Takes secrets out of texts: keys, tokens, passwords and numbers of payment cards. It knows them by their looks alone, so
 * it may miss one, or take something for one that is none.
 */
export interface Redactor {
  /**
   * The text with `[redacted:KIND]` in the place of each secret and all else as it was. Its result is left as it is.
   *
   * @param name what the text is the value of, such as the name of a metadata field: what is called a password or a key
   *   need not look like one of a known form
   */
  redact(text: string, name?: string): Redaction;
}
