import type { Format, Part } from '../format.ts';
import { isObject } from '../parsing/fields.ts';
import { readJsonValues } from '../parsing/read-json.ts';
import { readClaudeConversation, toConversation } from './claude-conversation.ts';
import { readClaudeMemory, readClaudeProject } from './claude-notes.ts';

/** Fields that only this export has, each for one kind of file: conversations, designs, memory and projects. */
const FIELDS = [
  /"chat_messages"\s*:/,
  /"(?:contentBlocks|authorAccountUuid)"\s*:/,
  /"(?:conversations_memory|project_memories|memory_files)"\s*:/,
];
const PROJECT_FIELDS = [/"uuid"\s*:/, /"(?:prompt_template|is_starter_project)"\s*:/, /"(?:docs|is_private)"\s*:/];

/**
 * The export of Claude: conversations, design conversations, projects and memory, in one file for all or in one file
 * for each. A file is recognized by its fields, since the names have changed several times.
 */
export const claude: Format = {
  name: 'claude',
  title: 'Claude export',
  files: 'conversations.json, projects.json and memories.json, or the zip files with them',
  recognizes: ({ text }) =>
    /^\s*[[{]/.test(text) &&
    (FIELDS.some((field) => field.test(text)) || PROJECT_FIELDS.every((field) => field.test(text))),
  async *read(file) {
    for await (const found of readJsonValues(file.open(), ['*', '$'])) {
      const number = found.place === '*' ? found.number : undefined;
      if ('value' in found) yield* readItem(found.value, number, file.path);
      else yield { kind: 'refused', place: number === undefined ? file.path : `item ${number}`, reason: found.refused };
    }
  },
};

/** Reads an element of an array; without `number`, reads a whole file. */
function* readItem(value: unknown, number: number | undefined, path: string): Generator<Part> {
  const toPlace = (kind: string) => (number === undefined ? path : `${kind} ${number}`);
  if (!isObject(value)) {
    yield { kind: 'refused', place: toPlace('item'), reason: 'an item must be an object' };
  } else if ('chat_messages' in value || 'messages' in value) {
    yield* readClaudeConversation(toConversation(value), toPlace('conversation'));
  } else if ('conversations_memory' in value || 'project_memories' in value || 'memory_files' in value) {
    yield* readClaudeMemory(value, toPlace('memory'));
  } else if ('prompt_template' in value || 'docs' in value) {
    yield* readClaudeProject(value, toPlace('project'));
  } else {
    const reason = 'an item must be a conversation with chat_messages, a project with docs, or a memory';
    yield { kind: 'refused', place: toPlace('item'), reason };
  }
}
