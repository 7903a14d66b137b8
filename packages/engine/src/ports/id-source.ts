/** A source of identities: each call answers a text that no call on any machine answered before. */
export interface IdSource {
  next(): string;
}
