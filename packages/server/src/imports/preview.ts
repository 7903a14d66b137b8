import { type ImportedText, type ImportPreview, LIMITS, type PreviewedText, type RefusedItem } from '@memoryd/contract';
import { removeSecrets } from '@memoryd/engine';
import { type ForeignFormat, LEFT_OUT, type LeftOutReason, type Part } from './format.ts';
import { type OwnerOptions, Owners } from './owners.ts';

/** Refused items: all are counted, and the first ones are listed. */
export interface Refusals {
  refused_count: number;
  refused: RefusedItem[];
}

export interface PreviewOptions extends OwnerOptions {
  /** Whether secrets are removed from the shown texts; true if absent. */
  redact?: boolean | undefined;
}

/** Characters of a text in which secrets are looked for. More than a preview shows, since a secret may reach beyond it. */
const REDACTED_CHARS = 4096;

/**
 * Reads all parts of a source, and returns what an import would do. Holds no texts but the first ones.
 *
 * @throws MemoryError INVALID_REQUEST if the owner of the texts is unclear
 */
export async function createPreview(
  from: ForeignFormat,
  parts: AsyncIterable<Part>,
  options: PreviewOptions,
): Promise<{ preview: ImportPreview; refusals: Refusals }> {
  const owners = new Owners(options);
  const texts = new TextSummary(options.redact !== false);
  const leftOut = new Map<LeftOutReason, number>();
  const refusals: Refusals = { refused_count: 0, refused: [] };
  const leaveOut = (reason: LeftOutReason, count: number) => leftOut.set(reason, (leftOut.get(reason) ?? 0) + count);
  for await (const part of parts) {
    if (part.kind === 'left-out') leaveOut(part.reason, part.count);
    else if (part.kind === 'refused') addRefusal(refusals, part);
    else {
      const owned = owners.assign(part.text);
      if (owned) texts.add(owned);
      else leaveOut('user', 1);
    }
  }
  owners.assertClear();
  const { users } = owners;
  const left_out = [...leftOut]
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => ({ reason: LEFT_OUT[reason], count }));
  return { preview: { from, ...texts.get(), left_out, ...(users.length > 0 && { users }) }, refusals };
}

function addRefusal(refusals: Refusals, { place, reason }: { place: string; reason: string }): void {
  refusals.refused_count += 1;
  if (refusals.refused.length >= LIMITS.listedRejections) return;
  refusals.refused.push({ place, error: { code: 'INVALID_REQUEST', message: reason } });
}

/** Counts, times and first texts. */
class TextSummary {
  #count = 0;
  readonly #sessions = new Set<string>();
  readonly #first: PreviewedText[] = [];
  #firstAt = Number.POSITIVE_INFINITY;
  #lastAt = Number.NEGATIVE_INFINITY;
  readonly #isRedacted: boolean;

  constructor(isRedacted: boolean) {
    this.#isRedacted = isRedacted;
  }

  add(text: ImportedText): void {
    this.#count += 1;
    if (this.#first.length < LIMITS.previewedTexts) this.#first.push(toPreviewedText(text, this.#isRedacted));
    if (text.session_id && this.#sessions.size < LIMITS.countedSessions) this.#sessions.add(text.session_id);
    const time = text.created_at ?? text.assumed_created_at;
    if (!time) return;
    const at = Date.parse(time);
    if (at < this.#firstAt) this.#firstAt = at;
    if (at > this.#lastAt) this.#lastAt = at;
  }

  get(): Pick<ImportPreview, 'found_count' | 'session_count' | 'first_at' | 'last_at' | 'first'> {
    const hasTimes = this.#firstAt <= this.#lastAt;
    return {
      found_count: this.#count,
      session_count: this.#sessions.size,
      ...(hasTimes && {
        first_at: new Date(this.#firstAt).toISOString(),
        last_at: new Date(this.#lastAt).toISOString(),
      }),
      first: this.#first,
    };
  }
}

const PREVIEWED = ['tags', 'session_id', 'user_id', 'created_at', 'valid_from', 'valid_to', 'metadata'] as const;

function toPreviewedText(whole: ImportedText, isRedacted: boolean): PreviewedText {
  const start = { ...whole, content: whole.content.slice(0, REDACTED_CHARS) };
  const text = isRedacted ? removeSecrets(start).request : start;
  const shown = PREVIEWED.filter((field) => text[field] != null).map((field) => [field, text[field]]);
  return {
    // Code points, so that no character is cut in half.
    content: [...text.content.slice(0, 2 * LIMITS.previewedChars)].slice(0, LIMITS.previewedChars).join(''),
    ...Object.fromEntries(shown),
    external_id: text.external_id,
  };
}
