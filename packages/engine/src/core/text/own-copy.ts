/**
 * A copy of a piece of a text, of 16,384 UTF-16 units at most, that is to be kept for longer than the text: the
 * runtime may have made the piece a view that holds on to the whole of it.
 */
export function ownCopy(piece: string): string {
  const units: number[] = [];
  for (let at = 0; at < piece.length; at += 1) units.push(piece.charCodeAt(at));
  return String.fromCharCode(...units);
}
