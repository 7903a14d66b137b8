import { ConsolidationId, Cursor, ImportId, Limit, MemoryId, SessionId } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';

export const MemoryPath = Type.Object({ memory_id: MemoryId });
export const SessionPath = Type.Object({ session_id: SessionId });
export const ConsolidationPath = Type.Object({ id: ConsolidationId });
export const ImportPath = Type.Object({ id: ImportId });
export const PageQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
export const NoQuery = Type.Object({}, { additionalProperties: false });
