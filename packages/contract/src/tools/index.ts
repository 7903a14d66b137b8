export { firstThatFit, sessionPage } from './bounded.ts';
export { failureText, isMemoryError, toModelError } from './failure.ts';
export {
  formatDay,
  formatEntry,
  formatLabel,
  formatListing,
  formatPart,
  formatResults,
  formatTime,
  getOutdatedFacts,
  toLine,
  type View,
  withoutListings,
} from './listing.ts';
export { toLocalTimes } from './local-times.ts';
export type { Tool, ToolCall } from './tool.ts';
export { MODEL_TOOLS, TOOLS } from './tools.ts';
