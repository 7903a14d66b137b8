export type * from '@memoryd/contract';
export { type ImportedFile, MemoryClient, type MemoryClientOptions } from './client.ts';
export { MemoryError } from './memory-error.ts';
export {
  eachChange,
  eachConsolidation,
  eachCorrection,
  eachImport,
  eachMemory,
  eachRecall,
  eachSession,
  eachSessionMemory,
  eachText,
  eachUser,
} from './paging.ts';
export type { CallOptions, TransportOptions } from './transport.ts';
export { VERSION } from './version.ts';
