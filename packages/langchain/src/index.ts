export { MemoryChatHistory, type MemoryChatHistoryFields } from './chat-history.ts';
export { type MemoryDocumentMetadata, MemoryRetriever, type MemoryRetrieverFields } from './retriever.ts';
export { type MemoryToolsOptions, memoryTools } from './tools.ts';
