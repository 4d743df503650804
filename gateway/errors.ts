/** An error as JSON-RPC carries it; `data`, when there is some, is JSON text. */
export type RpcError = Readonly<{ code: number; message: string; data?: string }>;

/**
 * The gateway's own errors. Codes are JSON-RPC 2.0's and EIP-1474's, texts are geth's where geth has one, because clients
 * match on them.
 */
export const rpcErrors = {
  parse: { code: -32_700, message: "parse error" },
  invalidRequest: { code: -32_600, message: "invalid request" },
  emptyBatch: { code: -32_600, message: "empty batch" },
  batchTooLarge: { code: -32_600, message: "batch too large" },
  nonArrayParams: { code: -32_602, message: "non-array args" },
  notificationsNotSupported: { code: -32_601, message: "notifications not supported" },
  subscriptionNotFound: { code: -32_000, message: "subscription not found" },
  timeout: { code: -32_002, message: "request timed out" },
  responseTooLarge: { code: -32_008, message: "response too large" },
  nodeUnavailable: { code: -32_603, message: "the node does not answer; try again later" },
  queueFull: { code: -32_005, message: "too many calls wait for the node; try again later" },
  tooMuchHeld: {
    code: -32_005,
    message:
      "too much is held in memory for this client, or for all; take the answers that wait, ask for less at a time, or try again later",
  },
  anotherChain: { code: -32_603, message: "the node is on another chain than this endpoint; try again later" },
  nodeBehind: { code: -32_603, message: "the node is behind the chain's head; try again later" },
} as const satisfies Record<string, RpcError>;

const shownMethodLength = 100;

/** The method that is unknown, or not for this caller: both look the same, so that nothing is learned from the difference. */
export function methodNotFound(method: string): RpcError {
  const shown = method.length <= shownMethodLength ? method : `${asciiPrefix(method.slice(0, shownMethodLength))}...`;
  return { code: -32_601, message: `the method ${shown} does not exist/is not available` };
}

/** A call that is larger than may be, or has more in it. */
export function callTooLarge({ callBytes, callValues }: Readonly<{ callBytes: number; callValues: number }>): RpcError {
  const message = `request too large: one call may have ${callBytes} bytes, and ${callValues} values, keys and escaped characters`;
  return { code: -32_600, message };
}

/** Parameters that are larger than the method can need. */
export function paramsTooLarge(method: string, bytes: number, limitBytes: number): RpcError {
  return invalidParams(`params too large: ${bytes} bytes, limited to ${limitBytes} bytes for ${method}`);
}

/** A parameter that can't be accepted (JSON-RPC 2.0, invalid params). */
export function invalidParams(message: string): RpcError {
  return { code: -32_602, message };
}

/** The subscription that the eth namespace does not have. */
export function unknownSubscription(name: string): RpcError {
  return {
    code: -32_601,
    message: `no "${asciiPrefix(name.slice(0, shownMethodLength))}" subscription in eth namespace`,
  };
}

/** A limit of rate, concurrency or load that was reached (EIP-1474, limit exceeded). */
export function limitExceeded(message: string): RpcError {
  return { code: -32_005, message };
}

/** Drops what a cut may have left of a multi-byte character. */
function asciiPrefix(text: string): string {
  return text.replace(/[\x80-\xff]+$/, "");
}
