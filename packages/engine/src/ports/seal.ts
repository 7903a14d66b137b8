/**
 * Makes of a text one that tells nothing of it, and reads it again. The same text for the same purpose always gives the
 * same one where the same database is open.
 */
export interface Seal {
  seal(text: string, purpose: string): string;
  /** Undefined for a text that was never made here for this purpose. */
  open(sealed: string, purpose: string): string | undefined;
}
