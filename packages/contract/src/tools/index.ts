export { firstThatFit, sessionPage } from './bounded.ts';
export { failureText, getFailure, isMemoryError } from './failure.ts';
export { resultsText } from './texts.ts';
export type { Tool, ToolCall } from './tool.ts';
export { MODEL_TOOLS, TOOLS } from './tools.ts';
