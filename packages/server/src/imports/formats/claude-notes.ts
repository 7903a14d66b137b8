import { LIMITS, PROJECT_TAG } from '@memoryd/contract';
import type { Part } from '../format.ts';
import { LeftOutCounts } from '../left-out-counts.ts';
import {
  isObject,
  type TextFields,
  toContent,
  toExternalId,
  toLabel,
  toMetadata,
  toTags,
  toTextPart,
} from '../parsing/fields.ts';
import { toImportedTime } from '../parsing/times.ts';

type Json = Record<string, unknown>;

/** Reads the description, the instructions and the documents of a project. */
export function* readClaudeProject(project: Json, place: string): Generator<Part> {
  const docs: unknown[] = Array.isArray(project.docs) ? project.docs : [];
  const leftOut = new LeftOutCounts();
  if (project.is_starter_project === true) {
    leftOut.add('system');
    yield* leftOut.toParts();
    return;
  }
  if (project.docs !== undefined && project.docs !== null && !Array.isArray(project.docs)) {
    yield { kind: 'refused', place, reason: 'docs must be an array' };
  }
  const id = toContent(project.uuid) ?? toContent(project.name) ?? '';
  const title = toLabel(project.name, LIMITS.tagChars - PROJECT_TAG.length);
  const shared = {
    tags: title === undefined ? undefined : toTags([`${PROJECT_TAG}${title}`]),
    created_at: toImportedTime(project.created_at),
  };
  const ids = { title, project_id: id };
  for (const field of ['description', 'prompt_template']) {
    const metadata = toMetadata({ ...ids, part: field });
    yield* toNote(`${place}, ${field}`, project[field], { ...shared, metadata, external_id: `project/${id}/${field}` });
  }
  for (const [index, doc] of docs.entries()) {
    const docPlace = `${place}, document ${index + 1}`;
    if (!isObject(doc)) {
      yield { kind: 'refused', place: docPlace, reason: 'a document must be an object' };
      continue;
    }
    const name = toLabel(doc.filename, LIMITS.sourceChars);
    const note = {
      ...shared,
      created_at: toImportedTime(doc.created_at) ?? shared.created_at,
      metadata: toMetadata({ ...ids, file_name: name }),
      external_id: `project/${id}/${toContent(doc.uuid) ?? name ?? index + 1}`,
    };
    if (toContent(doc.content) === undefined) leftOut.add('empty');
    yield* toNote(docPlace, doc.content, note);
  }
  yield* leftOut.toParts();
}

/** Reads the notes that Claude keeps about a person: of all conversations, of each project, and in files. */
export function* readClaudeMemory(memory: Json, place: string): Generator<Part> {
  const account = toContent(memory.account_uuid) ?? '';
  yield* toNote(place, memory.conversations_memory, { external_id: `memory/${account}/conversations` });
  const projects = isObject(memory.project_memories) ? memory.project_memories : {};
  for (const [id, content] of Object.entries(projects)) {
    const metadata = toMetadata({ project_id: id });
    yield* toNote(`${place}, project ${id}`, content, { metadata, external_id: `memory/${account}/project/${id}` });
  }
  const files: unknown[] = Array.isArray(memory.memory_files) ? memory.memory_files : [];
  for (const [index, file] of files.entries()) {
    const filePlace = `${place}, file ${index + 1}`;
    if (!isObject(file)) {
      yield { kind: 'refused', place: filePlace, reason: 'a file must be an object' };
      continue;
    }
    const path = toLabel(file.path, LIMITS.externalIdChars);
    yield* toNote(filePlace, file.content, {
      created_at: toImportedTime(file.updated_at),
      metadata: toMetadata({ path }),
      external_id: `memory/${account}/file/${path ?? index + 1}`,
    });
  }
}

function* toNote(place: string, value: unknown, fields: Omit<TextFields, 'content'>): Generator<Part> {
  const content = toContent(value)?.trim();
  if (content !== undefined) {
    const external_id = toExternalId('claude', fields.external_id);
    yield toTextPart(place, { ...fields, content, external_id, source: 'claude' });
  } else if (value !== undefined && value !== null && typeof value !== 'string') {
    yield { kind: 'refused', place, reason: 'the text must be a string' };
  }
}
