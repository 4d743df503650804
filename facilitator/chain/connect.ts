import type { z } from "zod";
import { findChainTraits } from "#daemon/chain-traits.ts";
import type { Logger } from "#daemon/log/log.ts";
import { createBatchingClient, requestsInFlightMax, type JsonRpcObserver } from "./batching-client.ts";
import { createFailover } from "./failover.ts";
import { createHttpTransport } from "./http-transport.ts";
import type { chain } from "./settings.ts";

/** Creates the client of the chain's nodes, with the batch size that they accept. */
export function connectToNode(
  {
    id,
    rpcUrl,
    fallbackRpcUrls,
    rpcTimeoutMs: timeoutMs,
    batchCallsMax = findChainTraits(id).batchCallsMax,
  }: z.output<typeof chain>,
  { observe, ...times }: Readonly<{ observe: JsonRpcObserver; monotonicMs: () => number; log: Logger }>,
) {
  const connect = (url: string) => createHttpTransport({ url, timeoutMs, connectionsMax: requestsInFlightMax });
  const nodes = [rpcUrl, ...fallbackRpcUrls].map((url) => ({ transport: connect(url), origin: new URL(url).origin }));
  const [first] = nodes;
  const transport =
    nodes.length === 1 && first !== undefined ? first.transport : createFailover(nodes, { chainId: id, ...times });
  return createBatchingClient({ timeoutMs, batchCallsMax }, { transport, observe });
}
