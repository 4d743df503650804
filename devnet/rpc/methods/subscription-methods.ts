import { z } from "zod";
import { logFilter } from "../log-filter.ts";
import type { CallContext, MethodGroup } from "../method.ts";
import { readParams } from "../params.ts";
import { errorCode, RpcError } from "../rpc-error.ts";
import type { Subscriptions } from "../subscriptions.ts";

/** Creates `eth_subscribe` and `eth_unsubscribe`, over WebSocket only; names and texts are geth's. */
export function createSubscriptionMethods(): MethodGroup {
  return {
    eth_subscribe: async (params, context) => {
      const subscriptions = requireSubscriptions(context);
      const [type, filter] = readParams([z.string(), z.looseObject({}).optional()], params);
      if (type === "newHeads") return subscriptions.subscribe({ type });
      if (type !== "logs") {
        throw new RpcError(errorCode.methodNotFound, `no "${type}" subscription in eth namespace`);
      }
      const [wanted] = readParams([logFilter], [filter ?? {}]);
      return subscriptions.subscribe({ type, filter: wanted });
    },
    eth_unsubscribe: async (params, context) => {
      const subscriptions = requireSubscriptions(context);
      const [id] = readParams([z.string()], params);
      return subscriptions.unsubscribe(id);
    },
  };
}

function requireSubscriptions({ subscriptions }: CallContext): Subscriptions {
  if (subscriptions !== undefined) return subscriptions;
  throw new RpcError(errorCode.methodNotFound, "notifications not supported");
}
