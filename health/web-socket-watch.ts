import { truncateText } from "#daemon/secrets/mask.ts";
import { WebSocket } from "ws";
import { UnresolvedNameError, watchLookup } from "#daemon/http/name-lookup.ts";
import { hasRejectedCertificate, wasClosedEarly } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { readResponse, writeCall } from "#daemon/json-rpc.ts";
import { createTimeoutSignal } from "#daemon/time.ts";
import type { ConditionBoard } from "#status/condition-board.ts";
import { pollCheck } from "#status/failed-check.ts";
import type { ReasonOf } from "#status/condition.ts";
import type { ObservedNode } from "./rpc-state.ts";

export type WebSocketWatchOptions = Readonly<{
  url: string;
  intervalMs: number;
  timeoutMs: number;
  signal: AbortSignal;
}>;

/** Larger than any `eth_blockNumber` response. */
const messageLimitBytes = 65_536;

/**
 * Requests `eth_blockNumber` over a new WebSocket at an interval: some nodes are known to freeze only there while HTTP still responds.
 * Settles when the watch has ended.
 */
export async function watchWebSocket(
  options: WebSocketWatchOptions,
  { board, log, facts }: Readonly<{ board: ConditionBoard; log: Logger; facts: ObservedNode }>,
): Promise<void> {
  const where = new URL(options.url).origin;
  const type = "WebSocketResponding";
  const { intervalMs, signal: stopped } = options;
  const polling = pollCheck(
    { name: "websocket", what: "The check of the node's WebSocket", types: [type], intervalMs, signal: stopped },
    async (signal) => {
      const failure = await openWebSocket(options, signal);
      if (signal.aborted) return;
      if (failure === undefined) {
        facts.note({ webSocket: "answering" });
        board.set({ type, status: "True", reason: "Responding", message: `${where} responds to eth_blockNumber.` });
        return;
      }
      const message = describeFailure(failure, where);
      facts.note({ webSocket: { reason: failure.reason, message } });
      board.set({ type, status: "False", reason: failure.reason, message });
    },
    { board, log },
  );
  await polling.ended;
}

type Reason = ReasonOf<"WebSocketResponding", "False">;
type Failure = Readonly<
  { reason: Exclude<Reason, "NameNotResolved">; description: string } | { reason: "NameNotResolved"; hostname: string }
>;

function describeFailure(failure: Failure, where: string): string {
  if (failure.reason === "NameNotResolved") {
    return `the name ${failure.hostname} can't be resolved: no DNS server responds. ${where} could not be reached, so subscribers are not served; check this host's DNS servers, or use an IP address in node.webSocketUrl.`;
  }
  return `${where} ${failure.description}; subscribers are not served. Enable the node's WebSocket, or correct node.webSocketUrl.`;
}

/** Sends one request; returns failures as text. */
async function openWebSocket(
  { url, timeoutMs }: WebSocketWatchOptions,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const { lookup, pending } = watchLookup();
  const socket = new WebSocket(url, { maxPayload: messageLimitBytes, lookup });
  const deadline = AbortSignal.any([signal, createTimeoutSignal(timeoutMs)]);
  try {
    return await new Promise<Failure | undefined>((resolve) => {
      const late = () => {
        const hostname = pending();
        if (hostname !== undefined) resolve({ reason: "NameNotResolved", hostname });
        else resolve({ reason: "TimedOut", description: `did not respond to eth_blockNumber within ${timeoutMs} ms` });
      };
      deadline.addEventListener("abort", late, { once: true });
      socket.on("error", (error: NodeJS.ErrnoException) => {
        if (error instanceof UnresolvedNameError) resolve({ reason: "NameNotResolved", hostname: error.hostname });
        else resolve(describeFailedHandshake(error));
      });
      socket.once("close", () =>
        resolve({ reason: "ConnectionClosed", description: "closed the connection without a response" }),
      );
      socket.once("open", () => {
        socket.send(writeCall({ method: "eth_blockNumber", params: [] }));
      });
      socket.once("message", (data: Buffer) => resolve(judge(data.toString("utf8"))));
    });
  } finally {
    socket.terminate();
  }
}

function describeFailedHandshake(error: NodeJS.ErrnoException): Failure {
  const { code, message } = error;
  if (wasClosedEarly(error))
    return {
      reason: "ConnectionClosed",
      description: `closed the connection during the WebSocket handshake (${code})`,
    };
  if (hasRejectedCertificate(error))
    return { reason: "Unreachable", description: `has a certificate that is not accepted (${code})` };
  // Only a system error has a code; any other error concerns the server's response to the handshake.
  if (code === undefined)
    return { reason: "ConnectionRefused", description: `rejected the WebSocket handshake (${message})` };
  const reason = code === "ECONNREFUSED" ? "ConnectionRefused" : "Unreachable";
  return { reason, description: `can't be reached (${code})` };
}

function judge(text: string): Failure | undefined {
  const read = readResponse(text);
  if (read.kind === "answer" && read.answer.ok && isQuantity(read.answer.result)) return undefined;
  const found = read.kind === "another-id" ? read.words : JSON.stringify(truncateText(text, 60));
  return { reason: "NotJsonRpc", description: `returned ${found} for eth_blockNumber` };
}

function isQuantity(value: unknown): boolean {
  return typeof value === "string" && /^0x[0-9a-fA-F]+$/.test(value);
}
