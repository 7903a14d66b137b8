/** Two whole numbers: the first of 64 bits with a sign, the second from 0 to 2^48 - 1. */
type Sealed = readonly [number, number];

/**
 * Makes of two numbers a text that tells nothing of them, and reads it again. The same numbers always give the same text
 * where the same database is open.
 */
export interface Seal {
  seal(numbers: Sealed): string;
  /** Undefined for a text that was never made here, but for one of 65,536 made up ones. */
  open(text: string): Sealed | undefined;
}
