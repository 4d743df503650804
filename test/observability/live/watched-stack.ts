import { join } from "node:path";
import { mountSmallDisk, mayMount, type SmallDisk } from "#sidecar/testing/small-disk.ts";
import type { RuleGroup } from "#infra/observability/alert.ts";
import { spawnStack, findStackPorts, type RunningStack, type StackPorts } from "../../support/running-stack.ts";
import { findFreePorts } from "#daemon/testing/free-ports.ts";
import { until } from "#daemon/testing/until.ts";
import { startFaultyLink, startFaultyRpc, type FaultyLink, type FaultyRpc } from "./fault-proxies.ts";
import { findNodeChain, type NodeChain } from "./node-chain.ts";
import { startPrometheus, type RunningPrometheus, type ScrapedJobs } from "../../support/prometheus/prometheus.ts";
import { startReference, type ReferenceChain } from "./reference-chain.ts";
import { createWatchedFiles, type WatchedFiles } from "./watched-files.ts";

/** A complete stack, a Prometheus that scrapes it, and tools for its faults. */
export type WatchedStack = AsyncDisposable &
  Pick<WatchedFiles, "policy" | "releases" | "claim"> &
  Readonly<{
    stack: RunningStack;
    shopUrl: string;
    prometheus: RunningPrometheus;
    /** The directory with the node's programs and node.conf. */
    binDirectory: string;
    nodeUrl: string;
    nodeWebSocketUrl: string;
    gatewayUrl: string;
    /** The gateway's listener without the public tier's limits. */
    internalUrl: string;
    facilitatorUrl: string;
    chain: NodeChain;
    reference: ReferenceChain;
    rpc: FaultyRpc;
    webSocket: FaultyLink;
    /** Disk that the sidecar monitors as the node's data disk; undefined if this user may not mount one. */
    disk: SmallDisk | undefined;
    pushgatewayUrl: string;
    /** Scrapes one more address, in a job that may exist. Disposing of it stops them. */
    alsoScrape: (job: string, target: string) => Promise<AsyncDisposable>;
  }>;

/** Intervals of the sidecar short enough for a test of minutes, and limits that its load can reach. */
const quickSidecar = {
  GATEHOUSE_SIDECAR_LAG_RESTART: "false",
  GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "5000",
  GATEHOUSE_SIDECAR_UPKEEP_RESTORE_AFTER_MS: "0",
  GATEHOUSE_SIDECAR_RESTART_BUDGET_PER_HOUR: "4",
  GATEHOUSE_SIDECAR_RESTART_ANSWERS_WITHIN_MS: "10000",
  GATEHOUSE_SIDECAR_RESTART_HEALTHY_WITHIN_MS: "20000",
  GATEHOUSE_SIDECAR_GATEWAY_INTERNAL_ENABLED: "true",
  GATEHOUSE_SIDECAR_GATEWAY_OVERLOAD_CALLS_IN_FLIGHT: "32",
} as const;

/** The same for its constants. */
const quickConstants = {
  "health.webSocketIntervalMs": 1_000,
  "lag.intervalMs": 1_000,
  "prune.intervalMs": 1_000,
  "prune.stalledAfterMs": 5_000,
  "pushgateway.staleAfterMs": 6_000,
  "upkeep.fileTimeoutMs": 1_000,
  "upkeep.rereadIntervalMs": 1_000,
};

/** The rules' ten minutes are ten seconds here; the ledger must be checked for the first time within them. */
export const quickFacilitator = { "ledger.compareIntervalMs": 1_000 };

const stackDeadlineMs = 120_000;
const diskKibibytes = 65_536;

function nameJobsByService(ports: StackPorts): ScrapedJobs {
  return {
    sidecar: [`127.0.0.1:${ports.sidecar}`],
    facilitator: [`127.0.0.1:${ports.facilitatorOperations}`],
    "resource-server": [`127.0.0.1:${ports.resourceServerOperations}`],
  };
}

/** Starts both, and waits until the first request was paid. */
export async function startWatchedStack(
  options: Readonly<{ rules: readonly RuleGroup[]; scale: number; nameJobs?: (ports: StackPorts) => ScrapedJobs }>,
): Promise<WatchedStack> {
  await using started = new AsyncDisposableStack();
  const reference = started.use(await startReference(1672));
  const disk = (await mayMount()) ? started.use(await mountSmallDisk(diskKibibytes)) : undefined;
  const files = started.use(await createWatchedFiles());
  const { env: portsEnv, ports } = await findStackPorts();
  const nodeUrl = `http://127.0.0.1:${ports.node}`;
  const [internalPort = 0, rpcPort = 0] = await findFreePorts(2);
  const rpc = started.use(await startFaultyRpc(rpcPort, nodeUrl));
  const webSocket = started.use(await startFaultyLink(ports.nodeWebSocket));
  const prometheus = started.use(
    await startPrometheus({ rules: options.rules, intervalMs: 1_000, lookbackMs: 300_000 / options.scale }),
  );
  const stack = started.use(
    await spawnStack(
      [],
      {
        ...portsEnv,
        ...quickSidecar,
        ...files.env,
        GATEHOUSE_SIDECAR_NODE_HTTP_URL: rpc.url,
        GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL: `ws://127.0.0.1:${webSocket.port}`,
        GATEHOUSE_SIDECAR_LAG_REFERENCES: JSON.stringify([reference.url]),
        GATEHOUSE_SIDECAR_GATEWAY_INTERNAL_PORT: String(internalPort),
        ...(disk === undefined ? {} : { GATEHOUSE_SIDECAR_NODE_DATA_PATH: disk.path }),
      },
      { sidecar: { ...quickConstants, ...files.constants }, facilitator: quickFacilitator },
    ),
  );
  await until("the stack is up and the first request is paid", stackDeadlineMs, () => {
    if (stack.process.exitCode !== null) throw new Error(`the stack ended: ${stack.output()}`);
    return stack.output().includes("Ctrl-C stops everything.");
  });
  let jobs = (options.nameJobs ?? nameJobsByService)(ports);
  await prometheus.scrape(jobs);
  await until("Prometheus has scraped the whole stack", stackDeadlineMs, async () => {
    return (await prometheus.query("up == 1")).length === 3;
  });
  const workspace = join(stack.stateDirectory, "node");
  const owned = started.move();
  return {
    stack,
    shopUrl: `http://127.0.0.1:${ports.resourceServer}`,
    prometheus,
    policy: files.policy,
    releases: files.releases,
    claim: files.claim,
    binDirectory: join(workspace, "bin"),
    nodeUrl,
    nodeWebSocketUrl: `ws://127.0.0.1:${ports.nodeWebSocket}`,
    gatewayUrl: `http://127.0.0.1:${ports.gateway}`,
    internalUrl: `http://127.0.0.1:${internalPort}`,
    facilitatorUrl: `http://127.0.0.1:${ports.facilitator}`,
    chain: findNodeChain(workspace),
    reference,
    rpc,
    webSocket,
    disk,
    pushgatewayUrl: `http://127.0.0.1:${ports.pushgateway}`,
    alsoScrape: async (job, target) => {
      const before = jobs;
      jobs = { ...jobs, [job]: [...(jobs[job] ?? []), target] };
      await prometheus.scrape(jobs);
      await until(`Prometheus has scraped ${target}`, stackDeadlineMs, async () => {
        return (await prometheus.query(`up{instance="${target}"} == 1`)).length === 1;
      });
      return {
        [Symbol.asyncDispose]: async () => {
          await prometheus.scrape((jobs = before));
          // Otherwise the target, which is stopped next, would be reported as down before Prometheus has stopped
          // scraping it.
          await until(`Prometheus has forgotten ${target}`, stackDeadlineMs, async () => {
            return (await prometheus.query(`up{instance="${target}"}`)).length === 0;
          });
        },
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
