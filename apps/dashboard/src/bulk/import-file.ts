import type {
  FileImportResponse,
  ImportFileRequest,
  ImportFormat,
  ImportPreview,
  ImportResponse,
} from '@memoryd/client';
import type { Memories } from '../service.tsx';

/** Time in ms after which an import is given up; it continues when the file is sent again. */
const TIMEOUT_MS = 3_600_000;
/** Bytes of an export of memoryd that its preview reads. */
const PREVIEW_BYTES = 256 * 1024;
const PREVIEWED_TEXTS = 5;
const MAX_NAME_CHARS = 256;

export const FORMAT_LABELS: Readonly<Record<ImportFormat, string>> = {
  memoryd: 'Export of memoryd',
  chatgpt: 'Export of ChatGPT',
  claude: 'Export of Claude',
  'claude-code': 'Sessions of Claude Code',
  codex: 'Sessions of Codex',
  'gemini-cli': 'Sessions of Gemini CLI',
  mem0: 'Memories of mem0',
  zep: 'Export of Zep',
  letta: 'Agent of Letta',
  'mcp-memory': 'File of the MCP memory server',
  markdown: 'Notes in Markdown',
  csv: 'Table (CSV)',
  jsonl: 'JSON lines',
};

/** The formats whose columns or fields a person can map. */
export const hasColumns = (from: string): boolean => from === 'csv' || from === 'jsonl';

/** How a file is read. */
export interface ImportOptions {
  from: ImportFormat | 'auto';
  /** As in `ImportFileRequest`; empty for none. */
  map?: string;
  source_user?: string;
  /** Whether columns without a place in a memory become metadata. */
  keepsRest?: boolean;
}

/** The content of a file, as an import would store it. Counts that the file does not tell are absent. */
export type Preview = Pick<ImportPreview, 'from' | 'first'> & Partial<FileImportResponse>;

/** Bytes of a file in which its columns are looked for. */
const HEAD_BYTES = 64 * 1024;

/** Returns the names of the columns of a table, or of the fields of the first line; empty if they are not found. */
export async function readColumns(file: File): Promise<string[]> {
  const head = await file.slice(0, HEAD_BYTES).text();
  const line = head.replace(/^\uFEFF/, '').split(/\r?\n/, 1)[0] ?? '';
  if (line.startsWith('{')) return Object.keys((parse(line) as object | undefined) ?? {});
  const separator = [',', ';', '\t'].find((one) => line.includes(one)) ?? ',';
  return line.split(separator).map((name) => name.trim().replaceAll(/^"|"$/g, ''));
}

/** Returns what an import of a file would do. Stores nothing. */
export async function previewFile(
  memory: Memories,
  file: File,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<Preview> {
  const exported = options.from === 'auto' || options.from === 'memoryd' ? await previewExport(file) : undefined;
  if (exported) return exported;
  return (await memory.importFile(
    file,
    { ...toRequest(file, options), dry_run: true },
    { signal, timeoutMs: TIMEOUT_MS },
  )) as FileImportResponse;
}

/** Imports a file. A repeated import of the same file continues one that was interrupted. */
export function importFile(
  memory: Memories,
  file: File,
  options: ImportOptions,
  signal: AbortSignal,
): Promise<ImportResponse | FileImportResponse> {
  const request = options.from === 'memoryd' ? {} : toRequest(file, options);
  return memory.importFile(file, request, { signal, timeoutMs: TIMEOUT_MS });
}

function toRequest(file: File, { from, map, keepsRest, source_user }: ImportOptions): ImportFileRequest {
  return {
    from,
    name: file.name.slice(0, MAX_NAME_CHARS),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(map && { map }),
    ...(keepsRest && { rest: 'metadata' as const }),
    ...(source_user && { source_user }),
  };
}

/** Returns the preview of an export of memoryd, which the service does not preview; undefined for another file. */
async function previewExport(file: File): Promise<Preview | undefined> {
  const [head = '', ...lines] = (await file.slice(0, PREVIEW_BYTES).text()).split('\n');
  const header = parse(head) as { format?: unknown; lines?: number } | undefined;
  if (header?.format !== 'memoryd') return undefined;
  const first = lines.slice(0, PREVIEWED_TEXTS).map(parse) as (Preview['first'][number] | undefined)[];
  return {
    from: 'memoryd',
    first: first.filter((memory) => typeof memory?.content === 'string') as Preview['first'],
    ...(header.lines !== undefined && { found_count: header.lines }),
  };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
