export { firstThatFit, sessionPage } from './bounded.ts';
export { failureText } from './failure.ts';
export { counted, resultsText } from './texts.ts';
export type { Tool, ToolCall } from './tool.ts';
export { TOOLS } from './tools.ts';
