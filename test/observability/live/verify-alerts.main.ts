import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ruleGroups } from "#infra/observability/rules/all-rules.ts";
import { watchdogRules } from "#infra/observability/rules/watchdog.ts";
import { explainMissingPostgres } from "../../support/postgres.ts";
import { compressRules } from "./compressed-rules.ts";
import { gatewayFaults } from "./gateway-faults.ts";
import { seeFault, watchdog, type LiveFault, type SeenFault } from "./live-fault.ts";
import { nodeFaults } from "./node-faults.ts";
import { paymentFaults, startReplicated } from "./payment-faults.ts";
import type { RunningPrometheus } from "../../support/prometheus/prometheus.ts";
import { printQuietHour, seeQuietHour, withQuietHour } from "./quiet-hour.ts";
import { printSeenFaults, rejectOtherScale, withSeenFaults } from "./seen-faults.ts";
import { startWatchedStack, type WatchedStack } from "./watched-stack.ts";
import { upkeepFaults } from "./upkeep-faults.ts";
import { startUpgradedNode, versionFaults } from "./version-faults.ts";

const page = join(import.meta.dirname, "README.md");

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    "quiet-hour-only": { type: "boolean", default: false },
    scale: { type: "string", default: "60" },
    write: { type: "boolean", default: false },
  },
});
const scale = Number(values.scale);
if (values.write) rejectOtherScale(await readFile(page, "utf8"), scale);
const only = new RegExp(values.only);
const watched = [...ruleGroups, watchdogRules];
const seen: SeenFault[] = [];
let failures = 0;

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Makes one fault after the other. */
async function seeAll<T extends Readonly<{ prometheus: RunningPrometheus }>>(
  faults: readonly LiveFault<T>[],
  struck: T,
): Promise<void> {
  for (const fault of faults.filter(({ alert }) => only.test(alert))) {
    try {
      const result = await seeFault(fault, struck);
      seen.push(result);
      print(JSON.stringify(result));
    } catch (error) {
      failures += 1;
      print(`${fault.alert} FAILED: ${(error as Error).message} ${String((error as Error).cause ?? "")}`);
    }
  }
}

const isWanted = (faults: readonly Readonly<{ alert: string }>[]) => faults.some(({ alert }) => only.test(alert));

/** Checks that the alert that always fires does so at the end of all faults. */
async function seeWatchdog({ prometheus }: WatchedStack): Promise<void> {
  const alerts = await prometheus.alerts();
  if (alerts.some(({ state, labels }) => state === "firing" && labels["alertname"] === watchdog)) return;
  failures += 1;
  print(`${watchdog} FAILED: it does not fire`);
}

/** Watches a stack to which nothing happens: nothing may fire. First of all, so that no fault has left anything behind. */
async function runQuietHour(struck: WatchedStack): Promise<void> {
  try {
    const alerts = watched.reduce((sum, group) => sum + group.alerts.length, 0);
    const paragraph = printQuietHour(await seeQuietHour(struck, scale), alerts);
    print(paragraph);
    if (values.write) await writeFile(page, withQuietHour(await readFile(page, "utf8"), paragraph));
  } catch (error) {
    failures += 1;
    print(`the quiet hour FAILED: ${(error as Error).message}`);
  }
}

/** Makes every fault that this machine can make, and writes the table of what was seen. */
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
  const text = await readFile(page, "utf8");
  const table = printSeenFaults(seen, watched, { scale, page: text });
  print(table);
  if (values.write && failures === 0) await writeFile(page, withSeenFaults(text, table));
}

const rules = compressRules(watched, scale);
await using stack = await startWatchedStack({ rules, scale });
if (values.only === "") await runQuietHour(stack);
if (!values["quiet-hour-only"]) await makeFaults(stack);
process.exitCode = failures === 0 ? 0 : 1;
