import { getMessage, isRequestError, withMessage } from './failure.ts';

/** Period in ms after a failure of the service in which no call is made. */
const PAUSE_MS = 30_000;

/** Failures of the service since its last response. */
interface Outage {
  error: unknown;
  /** Time of the next call, in ms of the monotonic clock. */
  retryAt: number;
  isProbing: boolean;
  isReported: boolean;
}

/**
 * A circuit breaker. After a failure of the service, no call is made for 30 seconds. Then one call at a time is made
 * until one succeeds. Errors that a request causes are not failures of the service.
 */
export class Circuit {
  #outage: Outage | undefined;

  /** Makes the call. Rejects with its error, or without a call during the pause after a failure. */
  async call<T>(call: () => Promise<T>): Promise<T> {
    const outage = this.#outage;
    if (outage && (outage.isProbing || performance.now() < outage.retryAt)) {
      const pause = `not called, because it failed less than ${PAUSE_MS / 1000} s ago`;
      throw withMessage(outage.error, `the memory service was ${pause}: ${getMessage(outage.error)}`);
    }
    if (outage) outage.isProbing = true;
    try {
      const result = await call();
      this.#outage = undefined;
      return result;
    } catch (error) {
      if (isRequestError(error)) this.#outage = undefined;
      else this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    const retryAt = performance.now() + PAUSE_MS;
    this.#outage = { error, retryAt, isProbing: false, isReported: this.#outage?.isReported ?? false };
  }

  /** Calls `report` with the last failure of the service, unless an earlier call has reported the same outage. */
  reportOnce(report: (error: unknown) => void): void {
    if (!this.#outage || this.#outage.isReported) return;
    this.#outage.isReported = true;
    report(this.#outage.error);
  }
}
