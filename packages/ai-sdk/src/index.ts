export { type MemoryMiddlewareOptions, memoryMiddleware } from './middleware.ts';
export { type MemoryTools, memoryTools } from './tools.ts';
