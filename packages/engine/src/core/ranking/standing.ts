/** Where rows stand to each other, in columns. */
export interface Standing {
  scores: Float64Array;
  /** How many rows stand above each whatever they score: of equal scores, the row with fewer goes first. */
  above: Uint32Array;
  /** The row whose score each has: itself, or one that it must not stand above or below. */
  givers: Int32Array;
}

/** Each by its own score, none above another. */
export function standingBy(scores: Float64Array): Standing {
  return {
    scores,
    above: new Uint32Array(scores.length),
    givers: new Int32Array(scores.length).map((_, row) => row),
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
