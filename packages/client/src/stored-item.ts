import { createFieldError } from './memory-error.ts';
import { parseObject } from './response-body.ts';

/** Maximum size of an item, as JSON in UTF-8: the maximum of an attachment. */
const MAX_ITEM_BYTES = 1024 * 1024;
/** Maximum size of an item in metadata, as JSON in UTF-8. */
const MAX_METADATA_BYTES = 16 * 1024;
/** Maximum levels of metadata. */
const MAX_METADATA_DEPTH = 32;
/**
 * Matches JSON with values that metadata may not contain: U+0000, lone surrogates and integers above 2^53. Also matches
 * some other JSON, which can be an attachment as well.
 */
const UNSUITABLE = /\\u|\d{16}|\de\+/;

/** A JSON object of a framework. Not the contract's type of metadata, which the package of the client does not contain. */
type Item = Record<string, unknown>;

/** The fields of a store request or of a memory that contain an item. */
interface ItemFields {
  metadata?: Item | null;
  attachment?: string | null;
}

/**
 * Returns the fields of a store request that contain an item of a framework, such as a message without its text: the
 * metadata, or an attachment if the item is too large for metadata or has values that metadata may not contain. Values
 * that are not JSON are converted by `JSON.stringify`: undefined fields are left out, and NaN becomes null.
 *
 * @param field name of the item in errors, such as messages/0
 * @throws MemoryError INVALID_REQUEST for an item of more than 1 MiB
 */
export function toItemFields(item: Item, field: string): ItemFields {
  const json = JSON.stringify(item);
  const { length } = new TextEncoder().encode(json);
  if (length > MAX_ITEM_BYTES) {
    const limit = `have at most ${MAX_ITEM_BYTES} bytes of JSON besides its text, but has ${length}`;
    throw createFieldError(
      field,
      `${limit}; store large data elsewhere, such as an image, and add its address instead`,
    );
  }
  const stored: Item = JSON.parse(json);
  const isSuitable =
    length <= MAX_METADATA_BYTES && !UNSUITABLE.test(json) && isWithinDepth(stored, MAX_METADATA_DEPTH);
  return isSuitable ? { metadata: stored } : { attachment: json };
}

/** Returns the item of a memory from its attachment, if it has one that is a JSON object, or else from its metadata. */
export function getItem({ metadata, attachment }: ItemFields): Item {
  // Any program can store an attachment, so it may not be JSON.
  return (attachment ? parseObject<Item>(attachment) : undefined) ?? metadata ?? {};
}

function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}
