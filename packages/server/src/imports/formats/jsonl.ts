import type { Format, FormatOptions, Part } from '../format.ts';
import { readHeadItems } from '../parsing/json-head.ts';
import {
  assertMap,
  findColumns,
  getValue,
  hasUsualContent,
  toMappedPart,
  toMissingReason,
  toNoContentReason,
} from '../parsing/map-fields.ts';
import { readJsonItems } from '../parsing/read-json-items.ts';
import { SeenTexts } from '../seen-texts.ts';
import type { SourceFile } from '../source/source.ts';

/**
 * Objects of any program, one per line, or in one JSON array. `map` names the field of each field of a memory, or its
 * path, such as `message.text`; fields that it does not name come from fields with a usual name.
 */
export const jsonl: Format = {
  name: 'jsonl',
  title: 'JSON lines',
  files: 'one JSON object per line with a text, or a JSON array of such objects',

  recognizes({ text }) {
    return readHeadItems(text).some(
      ({ list, item }) => (list === '$' || list === '*') && hasUsualContent(Object.keys(item)),
    );
  },

  async *read(file, options) {
    assertMap(options.map);
    yield* readItems(file, options);
  },
};

async function* readItems(file: SourceFile, options: FormatOptions): AsyncGenerator<Part> {
  const unseen = new Set(Object.values(options.map));
  const seen = new SeenTexts();
  let names: readonly string[] = [];
  for await (const found of readJsonItems(file)) {
    if ('refused' in found) {
      yield { kind: 'refused', place: found.place, reason: found.refused };
      continue;
    }
    const { place, item } = found;
    names = Object.keys(item);
    for (const path of unseen) if (getValue(item, path) !== undefined) unseen.delete(path);
    const columns = findColumns(names, options.map);
    if (columns.content === undefined) yield { kind: 'refused', place, reason: toNoContentReason('field', names) };
    else yield toMappedPart({ format: 'jsonl', path: file.path, place, values: item }, columns, options, seen);
  }
  for (const path of unseen) {
    yield { kind: 'refused', place: file.path, reason: toMissingReason('field', path, names) };
  }
}
