/** A redacted text, and the kind of each secret that was removed, in the order of the text. */
interface Redaction {
  text: string;
  /** For example `github-token`: lower-case letters and hyphens. */
  kinds: string[];
}

/**
 * Removes secrets from texts: API keys, tokens, passwords and payment card numbers. Detection uses the format of the
 * text and the name of the field, so a redactor can miss a secret and can redact text that is no secret.
 */
export interface Redactor {
  /**
   * Returns the text with each secret replaced by `[redacted:KIND]` and everything else unchanged. Idempotent:
   * redacting the result changes nothing.
   *
   * @param name name of the field, such as a metadata field, whose value is the text. The value of a field named like a
   *   password or a key is redacted even if the format of the value is unknown.
   */
  redact(text: string, name?: string): Redaction;
}
