import { ERRORS, type ErrorCode } from './error-codes.ts';
import Type from './typebox.ts';

/** One problem in a request: a JSON Pointer to the field, and a message. */
export const ErrorDetail = Type.Object({ path: Type.String(), message: Type.String() });
export type ErrorDetail = Type.Static<typeof ErrorDetail>;

const errorFields = {
  code: Type.Enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
  message: Type.String(),
  details: Type.Optional(Type.Array(ErrorDetail)),
};

/** The fields of an error that clients receive. */
export const ErrorBody = Type.Object(errorFields);
export type ErrorBody = Type.Static<typeof ErrorBody>;

export const ErrorResponse = Type.Object({ error: Type.Object({ ...errorFields, request_id: Type.String() }) });
export type ErrorResponse = Type.Static<typeof ErrorResponse>;
