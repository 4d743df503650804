import { expect, onTestFinished, test } from "vitest";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createFakeNode } from "#sidecar/testing/fake-node.ts";
import { testProfile } from "#sidecar/testing/node-profile.ts";
import { runSidecar } from "../support/run-sidecar.ts";
import type { Condition } from "#status/condition.ts";
import type { Headline } from "#status/headline.ts";
import type { Verdict } from "#status/verdict.ts";
import { writeOwnedConfig } from "../support/node/owned-node.ts";
import { seed, takeSlice } from "../support/run-size.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import {
  beginsAs,
  statesByLevel,
  type Fault,
  type FaultyNode,
  findConditionStatus,
  metricValues,
} from "./faults/fault.ts";
import { fileFaults } from "./faults/file-faults.ts";
import { nodeFaults } from "./faults/node-faults.ts";
import { processFaults } from "./faults/process-faults.ts";
import { shownConditions } from "./faults/shown-conditions.ts";
import { upkeepFaults } from "./faults/upkeep-faults.ts";

const withinMs = generousMs;

/** Intervals so short that tests don't have to wait for them. */
const quick = {
  GATEHOUSE_SIDECAR_UPKEEP_REREAD_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_UPKEEP_FILE_TIMEOUT_MS: "2000",
  GATEHOUSE_SIDECAR_HEALTH_INTERVAL_MS: "50",
  GATEHOUSE_SIDECAR_HEALTH_TIMEOUT_MS: "1000",
  GATEHOUSE_SIDECAR_HEALTH_STALE_AFTER_MS: "1000",
  GATEHOUSE_SIDECAR_HEALTH_DISK_FREE_RATIO: "0",
  GATEHOUSE_SIDECAR_LAG_INTERVAL_MS: "100",
  GATEHOUSE_SIDECAR_PRUNE_INTERVAL_MS: "300",
  GATEHOUSE_SIDECAR_NODE_CLI_TIMEOUT_MS: "3000",
};

/** Replaces names in a text with the specification's, which the reference uses. */
const nameAsInReference = (text: string) => text.replaceAll(/pharos(?=\.conf|_cli)/g, "node");

/** Reads what a sidecar reports at one moment through each of its interfaces. */
async function readReports(url: string | undefined) {
  const ask = async (path: string) => fetch(`${url}${path}`);
  const readyz = (await ask("/readyz")).status;
  const said = await (await ask("/status")).text();
  if (testProfile === "pharos") expect(said).not.toMatch(/[ "]node_cli[ ,.:;"]/);
  const text = nameAsInReference(said);
  const status = JSON.parse(text) as { verdict: Verdict; headline: Headline; conditions: readonly Condition[] };
  return { readyz, ...status, metrics: await (await ask("/metrics")).text() };
}

async function createFaultyNode() {
  const resources = new AsyncDisposableStack();
  onTestFinished(() => resources.disposeAsync());
  const node = resources.use(await createFakeNode());
  await writeFile(node.configPath, writeOwnedConfig(node.workspace, "node-7"));
  const stateDirectory = join(node.workspace, "state");
  return { resources, struck: { node, stateDirectory, resources: resources.use(new AsyncDisposableStack()) } };
}

async function startBeside(struck: FaultyNode, settings: Readonly<Record<string, string>>) {
  const { node, stateDirectory } = struck;
  return runSidecar(node, { GATEHOUSE_SIDECAR_UPKEEP_STATE_DIRECTORY: stateDirectory, ...quick, ...settings });
}

async function expectShown({
  condition: [type, reason],
  reads,
  verdict,
  settings,
  prepare,
  strike,
}: Fault): Promise<void> {
  const row = shownConditions.find(({ condition }) => condition[0] === type && condition[1] === reason);
  if (row === undefined) throw new Error(`no row for ${type} ${reason}`);
  const shown = verdict === undefined ? row : { ...row, verdict, readyz: 503 };
  const { resources, struck } = await createFaultyNode();
  const own = (await settings?.(struck)) ?? {};
  await prepare?.(struck);
  await struck.node.start();
  const { urls } = resources.use(await startBeside(struck, own));
  const shows = () => readReports(urls["sidecar"]);
  if (strike !== undefined) {
    await untilShown(
      "healthy",
      shows,
      ({ verdict: { level } }) =>
        level === "healthy" || (own["GATEHOUSE_SIDECAR_UPKEEP_MODE"] === "observe" && level !== "unknown"),
    );
    await strike(struck, urls["gateway"] ?? "");
  }
  const found = await untilShown(
    `${JSON.stringify(shown)}: ${reads}`,
    shows,
    ({ verdict: { level }, headline, conditions, readyz, metrics }) =>
      level === shown.verdict &&
      statesByLevel[shown.verdict].test(headline.state) &&
      readyz === shown.readyz &&
      // If a call was in flight when the node exited, the call is reported first, with a different message.
      conditions.some((one) => one.type === type && one.reason === reason && beginsAs(reads).test(one.message)) &&
      metrics.includes(`gatehouse_condition_info{type="${type}",reason="${reason}"} 1`) &&
      metrics.includes(`gatehouse_verdict{level="${shown.verdict}"} 1`),
  );
  expect(found.metrics.match(/^gatehouse_verdict\{.*\} 1$/gm)).toHaveLength(1);
  expect(found.metrics).toContain(
    `gatehouse_condition{type="${type}"} ${metricValues[findConditionStatus(type, reason)]}`,
  );
}

async function untilShown(
  what: string,
  shows: () => ReturnType<typeof readReports>,
  isRight: (shown: Awaited<ReturnType<typeof readReports>>) => boolean,
) {
  let last: Awaited<ReturnType<typeof readReports>> | undefined;
  try {
    return await until(what, withinMs, async () => {
      last = await shows();
      return isRight(last) ? last : undefined;
    });
  } catch (cause) {
    const lines = last?.conditions.map(({ type, reason, message }) => `${type} ${reason}: ${message}`) ?? [];
    throw new Error(
      [
        `${what} (seed ${seed})\nbut: ${last?.readyz} ${last?.verdict.level}: ${last?.headline.state}. ${last?.headline.cause}`,
        ...lines,
      ].join("\n"),
      { cause },
    );
  }
}

/** `npm test` injects one in this many faults, chosen by the seed. */
const shares = 8;
// A public-family node reports no version, so nothing contradicts the setting.
const isMet = ({ condition }: Fault) => testProfile !== "pharos" || condition[0] !== "VersionConsistent";
const faults = [...nodeFaults, ...fileFaults, ...upkeepFaults, ...processFaults];
for (const fault of takeSlice(faults, shares).filter(isMet)) {
  test(fault.what, () => expectShown(fault));
}
