/** Where rows stand to each other, in columns. */
export interface Standing {
  scores: Float64Array;
  /** How many rows stand above each whatever they score: of equal scores, the row with fewer goes first. */
  above: Uint32Array;
  /** The row whose score each has: itself, or one that it must not stand above or below. */
  givers: Int32Array;
}

export function standingBy(scores: readonly number[]): Standing {
  return {
    scores: Float64Array.from(scores),
    above: new Uint32Array(scores.length),
    givers: Int32Array.from(scores.keys()),
  };
}

/** Gives a row the score of another where that is larger. */
export function liftTo({ scores, givers }: Standing, row: number, other: number): void {
  if ((scores[other] as number) > (scores[row] as number)) takeFrom({ scores, givers }, row, other);
}

/** Gives a row the score of another where that is smaller. */
export function lowerTo({ scores, givers }: Standing, row: number, other: number): void {
  if ((scores[other] as number) < (scores[row] as number)) takeFrom({ scores, givers }, row, other);
}

function takeFrom({ scores, givers }: Pick<Standing, 'scores' | 'givers'>, row: number, other: number): void {
  scores[row] = scores[other] as number;
  givers[row] = givers[other] as number;
}
