/** A memory that is a source for distillation. */
export interface DistilSource {
  id: string;
  /** Has at least one character that is not white space. */
  content: string;
  tags: readonly string[];
  /** Null if the memory has no session. */
  sessionId: string | null;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** Memories that state the same fact or belong together: at least one, oldest first, without repeated ids. */
export interface DistilGroup {
  readonly sources: readonly DistilSource[];
}

/** A statement in one line, and the ids of the sources that support the statement (at least one). */
export interface DistilledFact {
  text: string;
  sources: readonly string[];
}

/** A source (`corrected`) that a later source (`by`) corrects, with a verbatim quote from each source as evidence. */
export interface Correction {
  corrected: string;
  by: string;
  correctedQuote: string;
  byQuote: string;
}

/** The result of distilling a group. */
export interface Distilled {
  /** The texts of the facts, one per line, in the order of `facts`. */
  content: string;
  /** At least one fact, at most `DISTILLED_LIMITS.facts`. */
  facts: readonly DistilledFact[];
  /** Name of the distiller that wrote the texts. */
  by: string;
  /** Sources that other sources of the group correct. Each source is corrected by at most one other source. */
  corrections?: readonly Correction[];
  /** The distiller that was tried first, and the reason why it was replaced: a phrase without secrets. */
  replacedDistiller?: { name: string; because: string };
}

/** Maximum size of a distilled text: `chars` in UTF-16 units, and the number of facts. */
export const DISTILLED_LIMITS = { chars: 2000, facts: 8 } as const;

/**
 * Summarizes a group of memories in a text. A distiller sees only the group and names only sources of the group. A
 * source stays a source of the result even if the result does not quote it.
 */
export interface Distiller {
  /** `extractive`, or the name of a model. */
  readonly name: string;
  /** True if the distiller quotes sources side by side, so that the sources must agree. See `selectAgreeing`. */
  readonly quotes: boolean;
  /**
   * Rejects with DistillerUnavailable if the group cannot be distilled at the moment, and with the signal's reason if
   * the signal is aborted.
   */
  distil(group: DistilGroup, signal: AbortSignal): Promise<Distilled>;
}

/**
 * A distiller that may decline a group: it then returns undefined, and no memory is created or changed from the group.
 */
export interface DecliningDistiller extends Pick<Distiller, 'name' | 'quotes'> {
  distil(group: DistilGroup, signal: AbortSignal): Promise<Distilled | undefined>;
}

/** Names of the options in `EngineSettings` that configure a distiller. */
export type DistillerOption = 'llmUrl' | 'llmModel' | 'llmApiKey';

/**
 * A distiller cannot distil a group at the moment. The message is a phrase for operators. Neither the message nor the
 * cause's message contains a secret or the text of a memory.
 */
export class DistillerUnavailable extends Error {
  override readonly name = 'DistillerUnavailable';
  /** The option that is probably wrong, if any. */
  readonly option: DistillerOption | undefined;
  /** True if other groups would fail as well at the moment. */
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
