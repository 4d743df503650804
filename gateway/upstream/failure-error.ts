import { rpcErrors, type RpcError } from "../errors.ts";
import type { NodeFailure } from "./node-call.ts";

/** The JSON-RPC error that a client gets for a failure of the node. */
export function failureError(failure: NodeFailure): RpcError {
  switch (failure) {
    case "timeout":
      return rpcErrors.timeout;
    case "tooLarge":
      return rpcErrors.responseTooLarge;
    case "unavailable":
    case "slowReader":
      return rpcErrors.nodeUnavailable;
    case "queueFull":
      return rpcErrors.queueFull;
    case "badAnswer":
      return { code: -32_603, message: "the node's answer is no JSON-RPC; try again later" };
  }
}
