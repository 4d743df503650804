import { parseArgs } from "node:util";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { watchdogRules } from "#infra/observability/rules/watchdog.ts";
import { explainMissingPostgres } from "../../support/postgres.ts";
import { compressRules } from "./compressed-rules.ts";
import { gatewayFaults } from "./gateway-faults.ts";
import { seeFault, watchdog, type LiveFault } from "./live-fault.ts";
import { nodeFaults } from "./node-faults.ts";
import { paymentFaults, startReplicated } from "./payment-faults.ts";
import type { RunningPrometheus } from "../../support/prometheus/prometheus.ts";
import { seeQuietHour } from "./quiet-hour.ts";
import { startWatchedStack, type WatchedStack } from "./watched-stack.ts";
import { upkeepFaults } from "./upkeep-faults.ts";
import { startUpgradedNode, versionFaults } from "./version-faults.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    "quiet-hour-only": { type: "boolean", default: false },
    scale: { type: "string", default: "60" },
  },
});
const scale = Number(values.scale);
const only = new RegExp(values.only);
const watched = [...ruleGroups, watchdogRules];
/**
 * Alerts that no fault on a single machine causes; test/sidecar/corrupt-data.integration.test.ts damages the data of a
 * separate node.
 */
const notCaused = new Set<string>(["GatehouseDataSuspect", watchdog]);
const fired = new Set<string>();
let failures = 0;

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Causes one fault after the other. */
async function seeAll<T extends Readonly<{ prometheus: RunningPrometheus }>>(
  faults: readonly LiveFault<T>[],
  struck: T,
): Promise<void> {
  for (const fault of faults.filter(({ alert }) => only.test(alert))) {
    try {
      const result = await seeFault(fault, struck);
      fired.add(result.alert);
      print(JSON.stringify(result));
    } catch (error) {
      failures += 1;
      print(`${fault.alert} FAILED: ${(error as Error).message} ${String((error as Error).cause ?? "")}`);
    }
  }
}

const isWanted = (faults: readonly Readonly<{ alert: string }>[]) => faults.some(({ alert }) => only.test(alert));

/** Checks, after all faults, that the alert that always fires does so. */
async function seeWatchdog({ prometheus }: WatchedStack): Promise<void> {
  const alerts = await prometheus.alerts();
  if (alerts.some(({ state, labels }) => state === "firing" && labels["alertname"] === watchdog)) return;
  failures += 1;
  print(`${watchdog} FAILED: it does not fire`);
}

/** Watches an idle stack: nothing may fire. This runs first, before any fault has left something behind. */
async function runQuietHour(struck: WatchedStack): Promise<void> {
  try {
    print(JSON.stringify(await seeQuietHour(struck, scale)));
  } catch (error) {
    failures += 1;
    print(`the quiet hour FAILED: ${(error as Error).message}`);
  }
}

/** Causes every fault that this machine can cause, and reports the alerts that no fault fired. */
async function makeFaults(struck: WatchedStack): Promise<void> {
  const { serving, pruning, disk, hanging, unparsed } = nodeFaults;
  const { configuration, pushed, budget } = upkeepFaults;
  const mounting: readonly LiveFault<WatchedStack>[] = struck.disk === undefined ? [] : [...disk, hanging];
  await seeAll(
    [
      ...serving,
      ...pruning,
      unparsed,
      ...pushed,
      ...gatewayFaults,
      ...paymentFaults.money,
      ...configuration,
      ...versionFaults.releases,
      ...mounting,
      budget,
    ],
    struck,
  );
  if (isWanted(versionFaults.upgrades)) {
    await using upgraded = await startUpgradedNode(struck);
    await seeAll(versionFaults.upgrades, upgraded);
  }
  if (isWanted(paymentFaults.replicas) && explainMissingPostgres() === undefined) {
    await using replicated = await startReplicated(struck);
    await seeAll(paymentFaults.replicas, replicated);
  }
  await seeWatchdog(struck);
  const names = watched.flatMap(({ alerts }) => alerts.map(({ name }) => name));
  for (const name of names.filter((one) => only.test(one) && !fired.has(one) && !notCaused.has(one))) {
    print(`${name}: fired by no fault on this machine`);
  }
}

const rules = compressRules(watched, scale);
await using stack = await startWatchedStack({ rules, scale });
if (values.only === "") await runQuietHour(stack);
if (!values["quiet-hour-only"]) await makeFaults(stack);
process.exitCode = failures === 0 ? 0 : 1;
