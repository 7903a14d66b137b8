import { ErrorCode } from './error-codes.ts';
import Type from './typebox.ts';

/** One problem in a request: a JSON Pointer to the field, and a message. */
export const ErrorDetail = Type.Object({ path: Type.String(), message: Type.String() });
export type ErrorDetail = Type.Static<typeof ErrorDetail>;

const errorFields = {
  code: ErrorCode,
  message: Type.String(),
  details: Type.Optional(Type.Array(ErrorDetail)),
};

/** The fields of an error that clients receive. */
export const ErrorBody = Type.Object(errorFields);
export type ErrorBody = Type.Static<typeof ErrorBody>;

/** The error of a request, with the id that the log of the service has for it. */
export const RequestError = Type.Object({ ...errorFields, request_id: Type.String() });
export type RequestError = Type.Static<typeof RequestError>;

/** The body of every error response. */
export const ErrorResponse = Type.Object({ error: RequestError });
export type ErrorResponse = Type.Static<typeof ErrorResponse>;
