/** `next` is where the following page starts; absent on the last. `total` counts all pages. */
export interface Page<Item, Place> {
  items: Item[];
  total: number;
  next?: Place;
}

/** A page: at most `limit` items and `maxBytes` of JSON after `after`, but at least one item where any is left. */
export interface PageRequest<Place> {
  limit: number;
  maxBytes: number;
  after?: Place;
}

/** A place in the order of (createdAt, ordinal). */
export interface Position {
  createdAt: number;
  ordinal: number;
}
