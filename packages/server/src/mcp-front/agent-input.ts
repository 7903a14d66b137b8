/** Standard input whose first messages may have been answered before the server was loaded. */
export interface AgentInput {
  /** Whether the input has ended and every message has its answer. */
  readonly isOver: boolean;
  /**
   * Ends the answering, and puts the answered messages back at the beginning of standard input, which is paused.
   * Returns the answered lines, whose responses must not be sent again.
   */
  take(): readonly string[];
  /** Resumes standard input, and repeats a signal that was received in the meantime. Called once the server listens. */
  resume(): void;
}
