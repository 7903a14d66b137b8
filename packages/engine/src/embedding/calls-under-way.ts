/**
 * Calls that are with a thread, counted where both sides can: here as they are sent, and by the thread, which may still be
 * in native code when nobody here can be told, as they end.
 */
export class CallsUnderWay {
  /** One shared cell: the thread takes one off for each call that has ended. */
  readonly cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #unanswered = 0;

  /** Counts a call as long as the thread has it. */
  async count<T>(call: () => Promise<T>): Promise<T> {
    this.#unanswered++;
    Atomics.add(this.cell, 0, 1);
    try {
      return await call();
    } finally {
      // A thread that died took none off.
      if (--this.#unanswered === 0) Atomics.store(this.cell, 0, 0);
    }
  }

  /** Blocks while the thread has calls, but no longer than so many milliseconds. */
  awaitNone(mostMs: number): void {
    const until = performance.now() + mostMs;
    for (;;) {
      const underWay = Atomics.load(this.cell, 0);
      const leftMs = until - performance.now();
      if (underWay <= 0 || leftMs <= 0) return;
      Atomics.wait(this.cell, 0, underWay, leftMs);
    }
  }
}
