/** A redacted text, and the kind of each secret that was removed, in the order of the text. */
interface Redaction {
  text: string;
  /** For example `github-token`: lower-case letters and hyphens. */
  kinds: string[];
}

/**
 * Removes secrets from texts: API keys, tokens, passwords and payment card numbers. Detection uses the format alone, so
 * it can miss a secret and can redact text that is not one.
 */
export interface Redactor {
  /**
   * Returns the text with each secret replaced by `[redacted:KIND]` and everything else unchanged. Idempotent:
   * redacting the result changes nothing.
   *
   * @param name the name of the field that the text is the value of, such as a metadata field. The value of a field
   *   named like a password or a key is redacted even if its format is unknown.
   */
  redact(text: string, name?: string): Redaction;
}
