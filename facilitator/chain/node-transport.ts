import { parseHttpEndpoint } from "#daemon/http/endpoint.ts";
import { createHttpClient } from "#daemon/http/http-client.ts";
import { hasRejectedCertificate, wasClosedEarly } from "#daemon/http/send-request.ts";
import type { Logger } from "#daemon/log/log.ts";
import { readResponses, writeCalls } from "#daemon/json-rpc.ts";
import { ChainError, type ChainFault } from "./chain-error.ts";

export type HttpTransportOptions = Readonly<{ url: string; timeoutMs: number; connectionsMax: number }>;

/** Sends JSON to a node. Connections open on demand; disposal closes them and ends waiting requests. */
export type HttpTransport = AsyncDisposable &
  Readonly<{
    /**
     * @throws {ChainError} when no response arrives before the signal aborts, or the response is not a success; the signal's reason is also
     * a ChainError.
     */
    post: (body: string, signal: AbortSignal) => Promise<string>;
  }>;

const responseBytesMax = 32 * 1024 * 1024;
/** A request fails if the node has just closed its keep-alive connection; one retry gets a new connection. */
const connectionRetriesMax = 1;

export function createHttpTransport({ url, timeoutMs, connectionsMax }: HttpTransportOptions): HttpTransport {
  const endpoint = parseHttpEndpoint(url);
  const { origin, pathname, search } = new URL(endpoint.url);
  const headers = { "content-type": "application/json", ...endpoint.headers };
  const closeController = new AbortController();
  const client = createHttpClient({ signal: closeController.signal, connectionsMax });
  const request = { origin, path: `${pathname}${search}`, method: "POST", headers, timeoutMs } as const;
  const sendPost = async (body: string, signal: AbortSignal): Promise<string> => {
    const { status, body: responseBody } = await client({ ...request, body, signal, limitBytes: responseBytesMax });
    if (status >= 200 && status < 300) return decoder.decode(responseBody);
    throw new ChainError("bad_answer", `the node returned HTTP ${status} instead of a JSON-RPC response`);
  };
  return {
    post: async (body, signal) => {
      for (let retries = 0; ; retries += 1) {
        try {
          return await sendPost(body, signal);
        } catch (error) {
          if (retries >= connectionRetriesMax || !wasClosedEarly(error)) throw toChainError(error);
        }
      }
    },
    [Symbol.asyncDispose]: async () =>
      closeController.abort(new ChainError("unreachable", "the client of the node is closed")),
  };
}

const decoder = new TextDecoder();

function toChainError(error: unknown): ChainError {
  if (error instanceof ChainError) return error;
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError" || code === "UND_ERR_CONNECT_TIMEOUT")
    return new ChainError("timeout", `the node did not respond in time (${message})`, { cause: error });
  return new ChainError("unreachable", `${describeFailure(error)} (${code ?? message})`, { cause: error });
}

function describeFailure(error: unknown): string {
  if (wasClosedEarly(error)) return "the node closed the connection before its response was complete";
  return hasRejectedCertificate(error) ? "the node's certificate is not accepted" : "the node can't be reached";
}

export type UpstreamNode = Readonly<{ transport: HttpTransport; origin: string }>;

/** Time after which a node that failed is probed again. */
const retryAfterMs = 5_000;
const probeTimeoutMs = 5_000;

/** Faults of a node; any other error is due to the request. */
const nodeFaults: ReadonlySet<ChainFault> = new Set(["unreachable", "timeout", "bad_answer"]);

type NodeState = UpstreamNode & { isHealthy: boolean; isChecked: boolean; probedAtMs: number };

/**
 * Creates a transport that uses the first healthy node of several, in their order. A request that fails is sent to the next node; the
 * failed node is probed (`eth_chainId`) until it responds. The chain id of every node but the first is checked before it is used. All
 * requests can be repeated on another node: reads have no effect, and the chain accepts a signed transaction only once.
 */
export function createFailover(
  nodes: readonly UpstreamNode[],
  { chainId, monotonicMs, log }: Readonly<{ chainId: number; monotonicMs: () => number; log: Logger }>,
): HttpTransport {
  const states = nodes.map(createState);

  const probe = async (node: NodeState): Promise<boolean> => {
    node.probedAtMs = monotonicMs();
    const body = writeCalls([{ method: "eth_chainId", params: [] }]);
    const nodeChainId = readChainId(await node.transport.post(body, AbortSignal.timeout(probeTimeoutMs)));
    if (nodeChainId !== chainId) {
      node.isHealthy = false;
      log.error(
        { event: "node-wrong-chain", node: node.origin, found: nodeChainId, chainId },
        `the node at ${node.origin} is not on chain ${chainId} and is not used; correct chain.fallbackRpcUrls`,
      );
      return false;
    }
    node.isChecked = true;
    return true;
  };

  const fail = (node: NodeState, error: ChainError): void => {
    if (node.isHealthy)
      log.warn(
        { event: "node-failed", node: node.origin, problem: error.message },
        "a node failed; using the next one until the failed node responds",
      );
    node.isHealthy = false;
    node.probedAtMs = monotonicMs();
  };

  /** Probes a node that failed, or whose callers gave up: either they disconnected, or the node hangs. */
  const scheduleProbe = (node: NodeState): void => {
    if (monotonicMs() - node.probedAtMs < retryAfterMs) return;
    const recover = (isRight: boolean): void => {
      if (!isRight || node.isHealthy) return;
      node.isHealthy = true;
      log.info({ event: "node-recovered", node: node.origin }, "a node responds again");
    };
    probe(node).then(recover, (error: unknown) => (isNodeFault(error) ? fail(node, error) : undefined));
  };

  return {
    post: async (body, signal) => {
      let failure: unknown;
      for (const node of states) {
        if (!node.isHealthy) {
          scheduleProbe(node);
          continue;
        }
        try {
          if (!node.isChecked && !(await probe(node))) continue;
          return await node.transport.post(body, signal);
        } catch (error) {
          failure = error;
          if (signal.aborted) scheduleProbe(node);
          if (signal.aborted || !isNodeFault(error)) throw error;
          fail(node, error);
        }
      }
      if (failure !== undefined) throw failure;
      throw new ChainError("unreachable", "no node in chain.rpcUrl or chain.fallbackRpcUrls responds; start one");
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(states.map(({ transport }) => transport[Symbol.asyncDispose]()));
    },
  };
}

function createState(node: UpstreamNode, index: number): NodeState {
  return { ...node, isHealthy: true, isChecked: index === 0, probedAtMs: -Infinity };
}

function isNodeFault(error: unknown): error is ChainError {
  return error instanceof ChainError && nodeFaults.has(error.fault);
}

function readChainId(text: string): number | undefined {
  const responses = readResponses(text);
  const responseBody = responses?.ok === true ? responses.byIndex.get(0) : undefined;
  return responseBody?.ok === true ? Number(responseBody.result) : undefined;
}
