/** A memory that others are distilled from. */
export interface DistilSource {
  id: string;
  /** Its text, with at least one character that is not blank. */
  content: string;
  tags: readonly string[];
  /** Null for a memory in no session. */
  sessionId: string | null;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** Memories that say the same thing or belong together: at least one, oldest first, each id once. */
export interface DistilGroup {
  readonly sources: readonly DistilSource[];
}

/** Something that the sources say, in one line, and the ids of those that say it: at least one. */
export interface DistilledFact {
  text: string;
  sources: readonly string[];
}

/** A source that a later one corrects, with the words of each that show it, exactly as they stand there. */
export interface Correction {
  corrected: string;
  by: string;
  correctedQuote: string;
  byQuote: string;
}

/** What a group comes down to. */
export interface Distilled {
  /** The facts' texts, one a line, in their order. */
  content: string;
  /** From 1 to `DISTILLED_LIMITS.facts`. */
  facts: readonly DistilledFact[];
  /** The name of the distiller that made it. */
  by: string;
  /** Sources that others of the group correct; each is corrected by one at most. */
  corrections?: readonly Correction[];
  /** The distiller that was asked first, and why it did not make this: half a sentence without secrets. */
  replacedDistiller?: { name: string; because: string };
}

/** What a distilled text is never larger than; lengths are in UTF-16 units. */
export const DISTILLED_LIMITS = { chars: 2000, facts: 8 } as const;

/**
 * A group of memories to a text that says what they say. It knows nothing but the group, and names no source that is
 * not in it; which of the sources it quotes takes nothing from the others, which stay sources all the same.
 */
export interface Distiller {
  /** `extractive`, or the name of a model. */
  readonly name: string;
  /** Whether it quotes sources side by side, which must then agree. See `selectAgreeing`. */
  readonly quotes: boolean;
  /**
   * Rejects with DistillerUnavailable when it cannot distil this group now, and with the signal's reason when that is
   * aborted.
   */
  distil(group: DistilGroup, signal: AbortSignal): Promise<Distilled>;
}

/** A distiller that may decline a group: it then returns undefined, and nothing is made of the group. */
export interface DecliningDistiller extends Pick<Distiller, 'name' | 'quotes'> {
  distil(group: DistilGroup, signal: AbortSignal): Promise<Distilled | undefined>;
}

/** The options that a distiller is opened with, by their names in `EngineSettings`. */
export type DistillerOption = 'llmUrl' | 'llmModel' | 'llmApiKey';

/**
 * A distiller cannot distil a group now. The message is half a sentence for whoever operates the service and, like the
 * cause's, holds no secret and no text of a memory.
 */
export class DistillerUnavailable extends Error {
  override readonly name = 'DistillerUnavailable';
  /** The option to look at, where one is likely to be wrong. */
  readonly option: DistillerOption | undefined;
  /** Whether another group would fare no better just now. */
  readonly forAll: boolean;

  constructor(
    message: string,
    { option, forAll = false, cause }: { option?: DistillerOption; forAll?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.option = option;
    this.forAll = forAll;
  }
}
