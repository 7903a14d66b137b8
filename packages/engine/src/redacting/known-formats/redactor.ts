import type { Redaction, Redactor } from '../../ports/redactor.ts';
import { FORMATS, type Format, NAMED } from './formats.ts';

/** The longest name of a value with what stands between the two, in characters. */
const LONGEST_NAME = 64;

/** Where a secret stands in a text. */
interface Span {
  kind: string;
  start: number;
  end: number;
}

/** Knows secrets by the forms that issuers give them, by what stands before them, and by the sums in numbers of cards. */
export const knownFormats: Redactor = {
  redact(text, name) {
    const spans = spansOf(text);
    return replaced(text, spans.length > 0 || name === undefined ? spans : wholeByName(text, name));
  },
};

function wholeByName(text: string, name: string): Span[] {
  const named = NAMED.filter((one) => one.name.test(name) && one.accepts(text));
  return named.slice(0, 1).map(({ kind }) => ({ kind, start: 0, end: text.length }));
}

/** In the order of the text, none touching another. */
function spansOf(text: string): Span[] {
  const spans = FORMATS.flatMap((format) => [...matches(text, format)]);
  // Of those that begin together, the format that comes first stays first.
  spans.sort((a, b) => a.start - b.start);
  const apart: Span[] = [];
  for (const span of spans) {
    const last = apart.at(-1);
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end);
    else apart.push(span);
  }
  return apart;
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

function replaced(text: string, spans: readonly Span[]): Redaction {
  let result = '';
  let at = 0;
  for (const { kind, start, end } of spans) {
    result += `${text.slice(at, start)}[redacted:${kind}]`;
    at = end;
  }
  return { text: result + text.slice(at), kinds: spans.map(({ kind }) => kind) };
}
