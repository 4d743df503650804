import { errorCode } from "./rpc-error.ts";

/** The HTTP status that a node which maps JSON-RPC errors to statuses gives an answer: 4xx for the caller's mistakes, else 500. */
export function statusOfAnswer(text: string): number {
  if (text === "" || text.startsWith("[")) return 200;
  const { error } = JSON.parse(text) as { error?: { code: number } };
  if (error === undefined) return 200;
  if (error.code === errorCode.methodNotFound) return 404;
  const isCallers = [errorCode.parse, errorCode.invalidRequest, errorCode.invalidParams].some(
    (code) => code === error.code,
  );
  return isCallers ? 400 : 500;
}
