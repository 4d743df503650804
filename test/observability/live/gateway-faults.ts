import { until } from "#daemon/testing/until.ts";
import { startService } from "../../support/service-process.ts";
import type { LiveFault } from "./live-fault.ts";
import { startLoad, type Load } from "./load.ts";
import type { NodeTrouble } from "./fault-proxies.ts";
import type { WatchedStack } from "./watched-stack.ts";
import { hang } from "./upkeep-faults.ts";

/**
 * Prepares a fault of the node, with callers that continue after it is fixed, so that the share of failed calls falls.
 */
function prepareTrouble(trouble: NodeTrouble, callsPerSecond: number) {
  return (struck: WatchedStack): Promise<AsyncDisposable> => {
    const load = startLoad({ url: struck.internalUrl, callsPerSecond });
    const made = struck.rpc.trouble(trouble);
    return Promise.resolve({
      [Symbol.asyncDispose]: async () => {
        made[Symbol.dispose]();
        await load[Symbol.asyncDispose]();
      },
    });
  };
}

const burns = ["errors:ratio_rate30m > 0.006", "slow:ratio_rate30m > 0.06"].map(
  (each) => `gatehouse:gateway_call_${each}`,
);
const forgottenWithinMs = 120_000;

/**
 * Waits until the calls of an earlier fault have left the shorter windows: otherwise, new calls would report them
 * again.
 */
const forgetBurns = ({ prometheus }: WatchedStack) =>
  until("no earlier call is remembered", forgottenWithinMs, async () => {
    return (await prometheus.query(burns.join(" or "))).length === 0;
  });

const loaded = (load: (struck: WatchedStack) => Load) => (struck: WatchedStack) =>
  Promise.resolve(startLoad(load(struck)));

/**
 * Faults of the gateway's calls, of its links, and of whole services. Slow burns come first: a fast one stays in the
 * long windows for a while.
 */
export const gatewayFaults: readonly LiveFault<WatchedStack>[] = [
  {
    alert: "GatehouseGatewayErrors",
    severity: "warning",
    what: "every hundredth read fails with status 500; 30 calls/s",
    prepare: forgetBurns,
    strike: prepareTrouble({ failEvery: 100 }, 30),
  },
  {
    alert: "GatehouseGatewayLatency",
    severity: "warning",
    what: "the node takes 0.8 s for every tenth read; 20 calls/s",
    prepare: forgetBurns,
    strike: prepareTrouble({ delayMs: 800, delayEvery: 10 }, 20),
  },
  {
    alert: "GatehouseGatewayErrors",
    severity: "critical",
    what: "every second read fails with status 500; 10 calls/s",
    besides: ["GatehouseConditionFalse"],
    prepare: forgetBurns,
    strike: prepareTrouble({ failEvery: 2 }, 10),
  },
  {
    alert: "GatehouseGatewayLatency",
    severity: "critical",
    what: "the node takes 0.8 s for every read; 5 calls/s",
    prepare: forgetBurns,
    strike: prepareTrouble({ delayMs: 800 }, 5),
  },
  {
    alert: "GatehouseOverloaded",
    what: "200 calls/s to a node that takes 0.3 s for each, with at most 32 in flight",
    besides: ["GatehouseGatewayErrors", "GatehouseGatewayLatency", "GatehouseConditionFalse"],
    prepare: forgetBurns,
    strike: prepareTrouble({ delayMs: 300 }, 200),
  },
  {
    alert: "GatehouseLimiterSaturated",
    what: "one public caller sends 600 calls/s; its tier has 300",
    strike: loaded(({ gatewayUrl }) => ({ url: gatewayUrl, callsPerSecond: 600, method: "eth_chainId" })),
  },
  {
    alert: "GatehouseGatewayLinkLost",
    what: "the connection to the node's WebSocket port cut, not HTTP",
    besides: ["GatehouseConditionFalse"],
    strike: ({ webSocket }) => webSocket.cut(),
  },
  {
    alert: "GatehouseFileRejected",
    what: "the gateway's policy file is left half written",
    besides: ["GatehouseConditionFalse"],
    strike: async ({ policy }) => {
      await policy.write("{ rate: ");
      return { [Symbol.asyncDispose]: () => policy.write("{}") };
    },
  },
  {
    alert: "GatehouseServiceDown",
    what: "the sidecar's process stopped (SIGSTOP)",
    strike: hang("sidecar"),
  },
  {
    alert: "GatehouseClockDrift",
    what: "a gateway whose clock is two minutes ahead",
    // Another target of the sidecar's job: a job that loses its only target would be reported as absent.
    strike: async ({ nodeUrl, nodeWebSocketUrl, alsoScrape }) => {
      const ahead = "const now = Date.now; Date.now = () => now() + 120_000;";
      const service = await startService("gateway", {
        GATEHOUSE_GATEWAY_NODE_HTTP_URL: nodeUrl,
        GATEHOUSE_GATEWAY_NODE_WEB_SOCKET_URL: nodeWebSocketUrl,
        GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1672",
        GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
        GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}`,
      });
      const scraped = await alsoScrape("sidecar", new URL(service.urls["operations"] ?? "").host);
      return {
        [Symbol.asyncDispose]: async () => {
          await scraped[Symbol.asyncDispose]();
          await service[Symbol.asyncDispose]();
        },
      };
    },
  },
];
