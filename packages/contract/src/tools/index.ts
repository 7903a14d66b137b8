export { firstThatFit, sessionPage } from './bounded.ts';
export { failureText, isMemoryError, toModelError } from './failure.ts';
export { resultsText } from './texts.ts';
export type { Tool, ToolCall } from './tool.ts';
export { MODEL_TOOLS, TOOLS } from './tools.ts';
