/** What about a request to a model's server did not go as it should. */
export type FailureKind =
  /** The key is wrong or missing; `setting` says which. */
  | 'key'
  /** The server does not know the model. */
  | 'model'
  /** The address is of something else. */
  | 'address'
  /** Nobody answers there. */
  | 'unreachable'
  /** No answer came in time. */
  | 'late'
  /** Too many requests for now. */
  | 'busy'
  /** The server fails. */
  | 'failing'
  /** The server refuses what this request says, and would take others. */
  | 'refused'
  | 'too long'
  /** The answer is not what was asked for. */
  | 'unusable'
  /** Whoever asked gave up. */
  | 'closed';

/** Which of the three settings of a remote model to look at. */
export type RemoteSetting = 'url' | 'model' | 'apiKey';

const SETTINGS: Partial<Record<FailureKind, RemoteSetting>> = {
  key: 'apiKey',
  model: 'model',
  address: 'url',
  unreachable: 'url',
  late: 'url',
};

/**
 * A request to a model's server that failed. The message is half a sentence for whoever operates the service; neither
 * it nor the cause holds the key, nor what the server says of a request whose words no log may hold.
 */
export class RemoteFailure extends Error {
  override readonly name = 'RemoteFailure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }

  /** The setting to look at, where one is likely to be wrong. */
  get setting(): RemoteSetting | undefined {
    return SETTINGS[this.kind];
  }
}
