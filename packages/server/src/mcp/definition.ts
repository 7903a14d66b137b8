import { covers, type Scope } from '@memoryd/contract';
import type {
  CacheHint,
  Implementation,
  Prompt,
  ResourceTemplateType,
  ServerCapabilities,
  Tool,
} from '@modelcontextprotocol/server';
import { formatInstructions } from './offer.ts';
import { CONTEXT_PROMPT } from './prompts.ts';
import { RESOURCE_TEMPLATES } from './resources.ts';
import { DEFAULT_TOOLS, type McpTool, type ToolName } from './tools.ts';

export interface DefinitionOptions {
  /** The version that the server reports. */
  version: string;
  /** The operations that the caller may perform. Tools that need more are not listed. */
  scope: Scope;
  /** The tools to offer. Default: the tools for models. */
  tools?: readonly McpTool[];
  /** Whether results have structured content, and tools list its schema. */
  structured?: boolean;
  /** Whether the client receives log records and may choose their level, which protocol revision 2026-07-28 removed. */
  logging?: boolean;
}

/** The protocol versions that a client chooses by `initialize`, the preferred one first. */
export const VERSIONS_WITH_INITIALIZE = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const;

/** The protocol versions that each request names itself. */
export const VERSIONS_WITHOUT_INITIALIZE = ['2026-07-28'] as const;

/** The parts of the server that no memory changes. */
export interface Definition {
  serverInfo: Implementation;
  capabilities: ServerCapabilities;
  /** Text that tells models which tools there are, and when to use each. */
  instructions: string;
  tools: Tool[];
  prompts: Prompt[];
  resourceTemplates: ResourceTemplateType[];
}

/** The methods whose results no memory changes. */
export const STATIC_METHODS = ['server/discover', 'tools/list', 'prompts/list', 'resources/templates/list'] as const;

/**
 * How long a client may keep the result of a static method (protocol revision 2026-07-28). The result depends on the API
 * key, so no proxy may share it, and a new version of memoryd may change it.
 */
export const STATIC_CACHE: Required<CacheHint> = { ttlMs: 5 * 60_000, cacheScope: 'private' };

/** Returns the parts of the server that no memory changes, for answers and for `createMcpServer`. */
export function getDefinition({
  version,
  scope,
  tools = DEFAULT_TOOLS,
  structured = false,
  logging = false,
}: DefinitionOptions): Definition {
  const offered = tools.filter((tool) => covers(scope, tool.scope));
  return {
    serverInfo: { name: 'memoryd', title: 'memoryd', version },
    capabilities: { tools: {}, resources: {}, prompts: {}, ...(logging && { logging: {} }) },
    instructions: formatInstructions(offered.map(formatUse)),
    tools: offered.map(({ listed, outputSchema }) => ({ ...listed, ...(structured && { outputSchema }) })),
    prompts: [CONTEXT_PROMPT],
    resourceTemplates: RESOURCE_TEMPLATES,
  };
}

/** When a model should call a tool. A text names no other tool, because the other may not be listed. */
const USES: Record<ToolName, string> = {
  memory_recall: 'before you start on a task, and whenever the user speaks of something from before.',
  memory_store:
    'when you learn what will matter later, such as facts about people and projects, preferences, decisions and plans: ' +
    'each fact on its own, with names and dates. Where something has changed, name the id of the old memory in `supersedes`.',
  memory_update: 'to correct or complete a memory that is wrong as it stands, by its id.',
  memory_forget: 'to delete a memory for good, only if the user asks for it or it should never have been stored.',
  memory_session: 'to read the memories of one conversation or project in order, oldest first.',
  memory_consolidate: 'to merge duplicates and to promote memories now; it also runs by itself.',
  memory_stats: 'to see how many memories there are.',
};

/** Returns the sentence of the instructions about a tool. */
export function formatUse({ name }: McpTool): string {
  return `Call \`${name}\` ${USES[name]}`;
}
