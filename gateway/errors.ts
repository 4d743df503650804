/** JSON-RPC error; `data`, if present, is JSON text. */
export type RpcError = Readonly<{ code: number; message: string; data?: string }>;

/** Codes from JSON-RPC 2.0 (section 5.1), EIP-1474 (`limitExceeded`) and geth (`timeout`, `responseTooLarge`). */
export const rpcCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  server: -32_000,
  timeout: -32_002,
  limitExceeded: -32_005,
  responseTooLarge: -32_003,
} as const;

/**
 * The gateway's own errors. Messages match geth's where geth has one, because clients match on them. Errors that may be retried unchanged
 * contain "rate limit": clients that get such an error in a batch, with HTTP 200, match on it (Subsquid's and alloy's do).
 */
export const rpcErrors = {
  parse: { code: rpcCodes.parse, message: "parse error" },
  invalidRequest: { code: rpcCodes.invalidRequest, message: "invalid request" },
  emptyBatch: { code: rpcCodes.invalidRequest, message: "empty batch" },
  pendingLogs: { code: rpcCodes.server, message: "pending logs are not supported" },
  nonArrayParams: { code: rpcCodes.invalidParams, message: "non-array args" },
  invertedRange: { code: rpcCodes.invalidParams, message: "invalid block range params" },
  notificationsNotSupported: { code: rpcCodes.methodNotFound, message: "notifications not supported" },
  subscriptionNotFound: { code: rpcCodes.server, message: "subscription not found" },
  timeout: { code: rpcCodes.timeout, message: "request timed out" },
  responseTooLarge: { code: rpcCodes.responseTooLarge, message: "response too large" },
  nodeUnavailable: { code: rpcCodes.internal, message: "the node is not responding; try again later" },
  cutAnswer: {
    code: rpcCodes.internal,
    message: "the node closed the connection before its response was complete; try again later",
  },
  badAnswer: { code: rpcCodes.internal, message: "the node's response is not JSON-RPC; try again later" },
  nodeLimits: {
    code: rpcCodes.limitExceeded,
    message: "rate limit exceeded: the node rate-limits calls; try again later",
  },
  anotherChain: {
    code: rpcCodes.internal,
    message: "the node is on another chain than this endpoint; try again later",
  },
  chainUnknown: { code: rpcCodes.internal, message: "the node has not reported its chain yet; try again later" },
  nodeBehind: { code: rpcCodes.internal, message: "the node is behind the chain's head; try again later" },
  headUnknown: { code: rpcCodes.internal, message: "the chain head is not known yet; try again later" },
  queueFull: {
    code: rpcCodes.limitExceeded,
    message: "rate limit exceeded: too many calls are queued; try again later",
  },
  tooMuchHeld: {
    code: rpcCodes.limitExceeded,
    message:
      "too much is buffered for this client or for all clients; read the pending responses, request less at a time, or try again later",
  },
  overload: { code: rpcCodes.limitExceeded, message: "rate limit exceeded: too much load; try again later" },
  tooManyUpstreamSubscriptions: {
    code: rpcCodes.limitExceeded,
    message: "too many different subscriptions; try again later",
  },
} as const satisfies Record<string, RpcError>;

export const responseErrors = {
  timeout: rpcErrors.timeout,
  tooLarge: rpcErrors.responseTooLarge,
  unavailable: rpcErrors.nodeUnavailable,
  cutAnswer: rpcErrors.cutAnswer,
  slowReader: rpcErrors.tooMuchHeld,
  queueFull: rpcErrors.queueFull,
  badAnswer: rpcErrors.badAnswer,
  limited: rpcErrors.nodeLimits,
  tooMuchHeld: rpcErrors.tooMuchHeld,
} as const satisfies Record<string, RpcError>;

/**
 * Reason why a call has no complete response. `slowReader`: the client did not read its response, and other callers needed the connection;
 * `tooMuchHeld`: too little memory to buffer the response.
 */
export type ResponseFailure = keyof typeof responseErrors;

/** Returns how many seconds to wait before retrying a call that failed because there were too many calls; undefined for any other failure. */
export function findRetryAfterSeconds(failure: ResponseFailure): number | undefined {
  return failure === "queueFull" || failure === "limited" ? 1 : undefined;
}

const shownMethodLength = 100;

/** Returns the error for a method that is unknown or that this caller may not call: both cases look the same, so that the difference reveals nothing. */
export function methodNotFound(method: string): RpcError {
  const shown = cutName(method);
  const end = shown === method ? "" : "...";
  return { code: rpcCodes.methodNotFound, message: `the method ${shown}${end} does not exist/is not available` };
}

/** Returns the error for an id or a method that exceeds the limit. */
export function nameTooLong(member: "id" | "method", limitBytes: number): RpcError {
  return { code: rpcCodes.invalidRequest, message: `${member} too long: limited to ${limitBytes} bytes` };
}

export function batchTooLarge(items: number): RpcError {
  return { code: rpcCodes.invalidRequest, message: `batch too large: limited to ${items} calls` };
}

export function callTooLarge({ callBytes, callValues }: Readonly<{ callBytes: number; callValues: number }>): RpcError {
  const message = `request too large: one call may have ${callBytes} bytes, and ${callValues} values, keys and escaped characters`;
  return { code: rpcCodes.invalidRequest, message };
}

export function paramsTooLarge(method: string, bytes: number, limitBytes: number): RpcError {
  return invalidParams(`params too large: ${bytes} bytes, limited to ${limitBytes} bytes for ${method}`);
}

export function invalidParams(message: string): RpcError {
  return { code: rpcCodes.invalidParams, message };
}

export function unknownSubscription(name: string): RpcError {
  return { code: rpcCodes.methodNotFound, message: `no "${cutName(name)}" subscription in eth namespace` };
}

/** Returns the error for a block range above its cap. The message ends with an allowed range, which client libraries parse. */
export function rangeTooLarge({
  blocks,
  capBlocks,
  permitted,
}: Readonly<{ blocks: bigint; capBlocks: number; permitted: string }>): RpcError {
  return invalidParams(
    `block range too large: ${blocks} blocks requested, limited to ${capBlocks} blocks. Try with this block range ${permitted}.`,
  );
}

export function rateExceeded(seconds: number): RpcError {
  return { code: rpcCodes.limitExceeded, message: `rate limit exceeded; try again in ${seconds} s` };
}

/** Returns the error for a call that timed out waiting for one of its caller's `limit` in-flight slots. */
export function tooManyCalls(limit: number, seconds: number): RpcError {
  const message = `rate limit exceeded: more than ${limit} calls at a time; try again in ${seconds} s`;
  return { code: rpcCodes.limitExceeded, message };
}

export function tooManySubscriptions(limit: number): RpcError {
  return { code: rpcCodes.limitExceeded, message: `more than ${limit} subscriptions; end one first` };
}

export function callerUpstreamSubscriptionLimit(limit: number): RpcError {
  const message = `more than ${limit} different subscriptions for one caller; end one first`;
  return { code: rpcCodes.limitExceeded, message };
}

export function formatRpcError({ code, message, data }: RpcError): string {
  return `{"code":${code},"message":${JSON.stringify(message)}${data === undefined ? "" : `,"data":${data}`}}`;
}

/** Truncates a name (a binary string) to the length shown in messages, and drops a multi-byte character split by the cut. */
function cutName(name: string): string {
  return name.length <= shownMethodLength ? name : name.slice(0, shownMethodLength).replace(/[\x80-\xff]+$/, "");
}
