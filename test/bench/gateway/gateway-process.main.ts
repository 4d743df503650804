import { setFlagsFromString } from "node:v8";
import { Registry } from "prom-client";
import { createActiveFiles } from "#daemon/files/active-files.ts";
import { createLog } from "#daemon/log/log.ts";
import { startGateway } from "#gateway/gateway.ts";
import { createSettingNames } from "#gateway/settings/names.ts";
import { gatewaySection } from "#gateway/settings/sections.ts";
import { limitlessTier } from "#gateway/testing/limitless-tier.ts";
import v8Flags from "#daemon/process/v8-flags.json" with { type: "json" };
import { limitProcessConnections } from "#daemon/http/connections/connection-budget.ts";

// Limits memory as `cli/gatehouse.js` does for a sidecar; as command-line flags, they would have more effects.
for (const flag of [...v8Flags.room, ...v8Flags.singleThreadedGc]) setFlagsFromString(flag);

/**
 * Runs the gateway alone in a process, for the benchmark. Arguments: port, node's HTTP URL, node's WebSocket URL, and
 * other settings as JSON.
 */
const [port, httpUrl = "", webSocketUrl = "", more = "{}"] = process.argv.slice(2);

const settings = gatewaySection.parse({
  public: { port: Number(port) },
  // All limits are enforced, but never reached.
  tiers: { public: { ...limitlessTier, webSockets: 10_000, subscriptions: 10_000 } },
  overload: { heavyParallel: 64 },
  ...(JSON.parse(more) as object),
});
const metrics = new Registry();
await using gateway = await startGateway(settings, {
  log: createLog({ service: "bench", level: "error" }),
  metrics,
  files: createActiveFiles(metrics),
  node: { httpUrl, webSocketUrl, fitness: { current: "fit" }, linkOpened: () => undefined },
  eventLoop: { recentMs: () => 0 },
  settingNames: createSettingNames("bench"),
  connections: limitProcessConnections(settings.listener, { metrics }),
});
await new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
await gateway[Symbol.asyncDispose]();
process.exit(0);
