/** Headers of a hook with the project. Values are percent-encoded. */
export interface ProjectHeaders {
  'X-Memoryd-Project'?: string;
  'X-Memoryd-Branch'?: string;
}

export function read(...segments: string[]): string | undefined;
export function getProjectHeaders(folder: string): ProjectHeaders;
export function toProjectHeaders(url: string, branch: string | undefined): ProjectHeaders;
