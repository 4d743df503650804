import { truncateText } from "#daemon/secrets/mask.ts";
import { createJsonRpcClient, NoJsonRpcResponseError } from "#daemon/http/json-rpc-client.ts";
import {
  hasRejectedCertificate,
  requestFailureCode,
  wasClosedEarly,
  type SendRequest,
} from "#daemon/http/send-request.ts";
import type { ReasonOf } from "#status/condition.ts";

/** Reason that a JSON-RPC endpoint returned no usable response. */
export type RpcFailureReason = ReasonOf<"RpcResponding", "False">;

/** An endpoint that returned no usable response; the message contains its URL. */
export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly code: RpcFailureReason;

  /**
   * Whether nothing listens on the port. After any other connection failure, the process may still be running: the cause may be a reset, a
   * failing network or DNS, or a lack of descriptors here.
   */
  get isPortClosed(): boolean {
    return this.code === "ConnectionRefused";
  }

  constructor(code: RpcFailureReason, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export type RpcClientOptions = Readonly<{ url: string; timeoutMs: number }>;

/** Calls one method; never waits longer than the timeout. */
export type RpcClient = (method: string, params: readonly unknown[], signal: AbortSignal) => Promise<unknown>;

/** Larger than any response to the methods called here. */
const responseLimitBytes = 65_536;

/** Creates a JSON-RPC client for one HTTP endpoint. Its calls may throw {@link RpcFailure}. */
export function createRpcClient(
  { url, timeoutMs }: RpcClientOptions,
  { send }: Readonly<{ send: SendRequest }>,
): RpcClient {
  const where = new URL(url).origin;
  const call = createJsonRpcClient({ url, timeoutMs, responseBytesMax: responseLimitBytes }, { send });
  return async (method, params, signal) => {
    const answer = await call(method, params, signal).catch((error: unknown) => {
      throw error instanceof NoJsonRpcResponseError ? buildFailure(error, method, { where, timeoutMs }) : error;
    });
    if (answer.ok) return answer.result;
    throw new RpcFailure(
      "RpcError",
      `${where} returned an error for ${method}: ${truncateText(answer.error.message, 200)}`,
    );
  };
}

function buildFailure(
  { why, cause }: NoJsonRpcResponseError,
  method: string,
  { where, timeoutMs }: Readonly<{ where: string; timeoutMs: number }>,
): RpcFailure {
  switch (why.kind) {
    case "unreachable":
      return buildUnreachable(where, cause);
    case "unresolved": {
      const message = `the name ${why.hostname} can't be resolved: no DNS server responds. ${where} could not be reached; check this host's DNS servers, or use an IP address instead of the name. In Docker, a stopped container's name does not resolve.`;
      return new RpcFailure("NameNotResolved", message, cause);
    }
    case "timeout": {
      const message = `${where} did not respond within ${timeoutMs} ms; check that the node is running, and its load.`;
      return new RpcFailure("TimedOut", message, cause);
    }
    case "too-large":
      return new RpcFailure(
        "ResponseTooLarge",
        `${where} returned more than ${responseLimitBytes} bytes; check that it is the node.`,
      );
    case "redirect": {
      const message = `${where} returned a redirect (${why.status}), which is not followed; check that it is the node's RPC port.`;
      return new RpcFailure("NotJsonRpc", message);
    }
    case "not-json":
      if (why.status === 429) {
        const message = `${where} rejected ${method} with HTTP 429, because this client exceeds its rate limit; raise that limit, or health.intervalMs.`;
        return new RpcFailure("RpcError", message);
      }
      return new RpcFailure("NotJsonRpc", `${method} on ${where} returned ${describeNotJson(why.text, why.status)}`);
    case "not-json-rpc": {
      const message = `${where} returned JSON that is not JSON-RPC for ${method}; check that it is the node's RPC port.`;
      return new RpcFailure("NotJsonRpc", message);
    }
    case "another-id": {
      const message = `${where} returned ${why.words} for ${method}; check that it is the node's RPC port, and not a proxy that mixes up responses.`;
      return new RpcFailure("NotJsonRpc", message);
    }
  }
}

function buildUnreachable(where: string, cause: unknown): RpcFailure {
  const code = requestFailureCode(cause);
  if (wasClosedEarly(cause)) {
    const message = `${where} accepted the connection but closed it before its response was complete (${code}); check the logs of the node and of any proxy in front of it.`;
    return new RpcFailure("ConnectionClosed", message, cause);
  }
  if (hasRejectedCertificate(cause)) {
    const message = `${where} has a certificate that is not accepted (${code}); renew or correct it, or set NODE_EXTRA_CA_CERTS to the file of its issuer's.`;
    return new RpcFailure("Unreachable", message, cause);
  }
  const message = `${where} can't be reached (${code}); check that the node is running and that this is its address.`;
  return new RpcFailure(code === "ECONNREFUSED" ? "ConnectionRefused" : "Unreachable", message, cause);
}

function describeNotJson(text: string, status: number): string {
  const shown = text === "" ? "an empty body" : JSON.stringify(truncateText(text, 60));
  if (status < 400) return `${shown}, not JSON; check that it is the node's RPC port.`;
  return `HTTP ${status} and ${shown}, not JSON; check that it is the node's RPC port and that node.httpUrl has the required credentials.`;
}

/** Parses a quantity (`0x…`); throws {@link RpcFailure} for anything else. */
export function parseQuantity(value: unknown, method: string, url: string): number {
  if (typeof value === "string" && /^0x[0-9a-fA-F]{1,13}$/.test(value)) return Number(value);
  const shown = truncateText(JSON.stringify(value) ?? "nothing", 60);
  throw new RpcFailure(
    "NotJsonRpc",
    `${new URL(url).origin} returned ${shown} for ${method}; expected a hexadecimal quantity.`,
  );
}
