/** How many times as long as it has worked something gives way at most, so that a quarter of the time is its own. */
const TIMES_AS_LONG = 3;

/** Longest that it gives way at a time, however long it has worked. */
const MAX_MS = 1000;

/** Lets work that nobody waits for give way to work that somebody does. */
export class GivingWay {
  #underWay = 0;
  #goOn: () => void = () => {};

  /** Lets a pause last while this is under way. */
  to(work: Promise<unknown>): void {
    this.#underWay++;
    const ended = () => {
      this.#underWay--;
      if (this.#underWay === 0) this.#goOn();
    };
    work.then(ended, ended);
  }

  /** Resolves when nothing is under way any more; after three times `workedMs`, or a second, whatever is. */
  async pause(workedMs: number): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(TIMES_AS_LONG * workedMs, MAX_MS));
      this.#goOn = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
