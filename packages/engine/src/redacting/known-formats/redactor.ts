import type { Redactor } from '../../ports/redactor.ts';
import { FORMATS, type Format, NAMED } from './formats.ts';

/** The longest name of a value with what stands between the two, in characters. */
const LONGEST_NAME = 64;

/**
 * How often a text is looked through. A marker can make a secret of what surrounds it: it has no blanks, and the number of
 * a card that stood in its place within a password had.
 */
const MOST_ROUNDS = 8;

/** Where a secret, or the marker in its place, stands in a text. */
interface Span {
  kind: string;
  start: number;
  end: number;
}

/** A text with markers in the places of secrets, in their order. */
interface Redacted {
  text: string;
  markers: Span[];
}

/** Knows secrets by the forms that issuers give them, by what stands before them, and by the sums in numbers of cards. */
export const knownFormats: Redactor = {
  redact(text, name) {
    let result: Redacted = { text, markers: [] };
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const secrets = secretsIn(result.text, name);
      if (secrets.length === 0) break;
      result = withMarkers(result.text, apart([...result.markers, ...secrets]));
    }
    return { text: result.text, kinds: result.markers.map(({ kind }) => kind) };
  },
};

function secretsIn(text: string, name: string | undefined): Span[] {
  const spans = FORMATS.flatMap((format) => [...matches(text, format)]);
  return spans.length > 0 || name === undefined ? spans : wholeByName(text, name);
}

function wholeByName(text: string, name: string): Span[] {
  const named = NAMED.filter((one) => one.name.test(name) && one.accepts(text));
  return named.slice(0, 1).map(({ kind }) => ({ kind, start: 0, end: text.length }));
}

/** In the order of the text, those that touch joined: the first gives the kind. */
function apart(spans: Span[]): Span[] {
  // Of those that begin together, the format that comes first stays first.
  spans.sort((a, b) => a.start - b.start);
  const joined: Span[] = [];
  for (const span of spans) {
    const last = joined.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else joined.push(span);
  }
  return joined;
}

function* matches(text: string, { kind, pattern, accepts, isWhole }: Format): Iterable<Span> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const [start, end] = secretIn(match);
    if (accepts?.(text.slice(start, end)) ?? true) {
      yield { kind, start, end };
      pattern.lastIndex = end;
    } else pattern.lastIndex = Math.max(match.index + 1, isWhole ? end - LONGEST_NAME : 0);
  }
}

function secretIn({ indices }: RegExpExecArray): [number, number] {
  const { secret, quoted, bare } = indices?.groups ?? {};
  return secret ?? quoted ?? bare ?? (indices?.[0] as [number, number]);
}

function withMarkers(text: string, spans: readonly Span[]): Redacted {
  const markers: Span[] = [];
  let result = '';
  let at = 0;
  for (const { kind, start, end } of spans) {
    result += text.slice(at, start);
    const marker = `[redacted:${kind}]`;
    markers.push({ kind, start: result.length, end: result.length + marker.length });
    result += marker;
    at = end;
  }
  return { text: result + text.slice(at), markers };
}
