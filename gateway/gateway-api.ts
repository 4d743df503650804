import { operationsApi } from "#daemon/http/operations-api.ts";
import type { Api } from "#daemon/http/open-api.ts";
import { describeStatusOperation, nodePageShape, pageOperation } from "#status/status-api.ts";

/** API of a standalone gateway's operations listener. The gateway's RPC describes itself through `rpc.discover`. */
export const gatewayApi: Api = {
  title: "Gatehouse gateway",
  description:
    "How a node is, as its gateway sees it. For operators; the RPC itself is described by rpc.discover (OpenRPC).",
  operations: [...operationsApi, describeStatusOperation(nodePageShape), pageOperation],
};
