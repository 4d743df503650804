import { afterAll, beforeAll, expect, test } from "vitest";
import { readMonitorSettings } from "#devnet/monitor/monitor-settings.ts";
import { formatNodeConf } from "#devnet/workspace/prepare-workspace.ts";
import { locateWorkspace } from "#devnet/workspace/workspace.ts";
import { buildDevnetConfSeed, buildNodeConfSeed } from "#infra/services/node/node-conf.ts";
import type { Desired } from "#node/conf/monitor-values.ts";
import { matchesSomeVersion } from "#node/conf/any-version-match.ts";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { lintConfig } from "#node/lint/lint-config.ts";
import {
  nodeReleases,
  parseNodeVersion,
  findReleaseOfText,
  type MonitorKeys,
  type NodeRelease,
} from "#node/versions.ts";
import { lintNodeConfiguration } from "#policies/node-configuration.ts";
import { plan } from "#sidecar/upkeep/plan/plan.ts";
import { readDocument } from "#node/testing/read-document.ts";
import { withRows } from "#node/testing/table-rows.ts";

/** A made-up naming. This file only adds it to the table; no other code knows it. */
const lagoonKeys: MonitorKeys = {
  enabled: "lagoon_enable",
  jobName: "lagoon_job",
  pushAddress: "lagoon_address",
  pushIntervalSeconds: "lagoon_interval",
  pushPort: "lagoon_port",
};
const lagoon: NodeRelease = {
  since: "0.99.0",
  layout: "workspace-bin",
  nodeCliTakesConfig: true,
  naming: "lagoon",
  monitorKeys: lagoonKeys,
};
const published = [...nodeReleases];
const table = nodeReleases as unknown as NodeRelease[];
beforeAll(() => void table.push(lagoon));
afterAll(() => void table.pop());

const fallback = { jobName: "made-up", pushPort: 9091, pushIntervalSeconds: 10 };
const desired: Desired = { monitor: { enabled: true, fallback }, prune: { enabled: true } };
const values = { enabled: true, jobName: "node-7", pushAddress: "10.0.0.1", pushIntervalSeconds: 5, pushPort: 9292 };
const keysOf = (version: string) => findReleaseOfText(version).monitorKeys;
const pamirKeys = keysOf("0.15.0");
const storageKeys = keysOf("0.16.2");

/** A `monitor_config` with the values under the given key names. */
function named(keys: MonitorKeys): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).map(([field, value]) => [keys[field as keyof MonitorKeys], value]));
}

function confOf(...monitors: readonly Readonly<Record<string, unknown>>[]): string {
  return JSON.stringify({ chain: { monitor_config: Object.assign({}, ...monitors) } }, undefined, 2);
}

function monitorOf(text: string): unknown {
  return readDocument(text).chain["monitor_config"];
}

function planCorrection(text: string, version: string) {
  const observed = { document: readDocument(text), version: parseNodeVersion(version) };
  const { actions, problems } = plan(observed, desired);
  expect(problems).toEqual([]);
  return actions.find((action) => action.kind === "write-config");
}

/** The lint's findings about `monitor_config`. */
function linted(text: string, version?: string): readonly string[] {
  const known = version === undefined ? undefined : parseNodeVersion(version);
  return lintConfig(Buffer.from(text), known)
    .filter(({ path }) => path.startsWith("chain.monitor_config"))
    .map(({ rule, path, message, fix }) => `${rule} ${path.split(".").at(-1)} ${message} ${fix}`);
}

test.each([
  ["pamir", pamirKeys, "0.15.0"],
  ["storage", storageKeys, "0.16.2"],
])("renames %s keys in an upgrade and back in a rollback, with the same values", (_, keys, version) => {
  const confBefore = confOf(named(keys));
  const migrated = planCorrection(confBefore, "0.99.1");
  expect(migrated?.changes.map(({ kind }) => kind)).toEqual(["rename", "rename", "rename", "rename", "rename"]);
  expect(migrated?.changes[0]?.reason).toBe("node 0.99.1 reads the lagoon_* names (0.99.0 and later)");
  expect(monitorOf(migrated?.text ?? "")).toEqual(named(lagoonKeys));
  expect(planCorrection(migrated?.text ?? "", "0.99.1")).toBeUndefined();
  expect(planCorrection(migrated?.text ?? "", version)?.text).toBe(confBefore);
});

test("keeps the newer values and removes the older keys of two earlier namings", () => {
  const old = { ...named(pamirKeys), [pamirKeys.jobName]: "of long ago" };
  const both = planCorrection(confOf(old, named(storageKeys)), "0.99.1");
  expect(monitorOf(both?.text ?? "")).toEqual(named(lagoonKeys));
  const all = planCorrection(confOf(old, named(storageKeys), { ...named(lagoonKeys), lagoon_job: "now" }), "0.99.1");
  expect(monitorOf(all?.text ?? "")).toEqual({ ...named(lagoonKeys), lagoon_job: "now" });
  expect(planCorrection(confOf(named(lagoonKeys), named(storageKeys)), "0.15.0")?.text).toBe(confOf(named(pamirKeys)));
});

test("renames only the keys that differ from the previous naming", () => {
  const shared = { ...lagoon, monitorKeys: { ...lagoonKeys, pushPort: storageKeys.pushPort } };
  const before = { document: readDocument(confOf(named(storageKeys))), version: parseNodeVersion("0.99.1") };
  const [action] = withRows(nodeReleases, [...published, shared], () => plan(before, desired)).actions;
  const changes = action?.kind === "write-config" ? action.changes : [];
  expect(changes.map(({ kind }) => kind)).toEqual(["rename", "rename", "rename", "rename"]);
});

test("restarts a node only for changes of the keys that it reads", () => {
  const text = confOf(named(lagoonKeys), { [pamirKeys.pushPort]: 1, [storageKeys.pushPort]: 1 });
  const nodeHas = fingerprintConfig(readDocument(text));
  const version = parseNodeVersion("0.99.1");
  const tidiedPlan = plan({ document: readDocument(text), version, nodeHas }, desired);
  expect(tidiedPlan.actions.map(({ kind }) => kind)).toEqual(["write-config"]);
  const other = readDocument(confOf({ ...named(lagoonKeys), lagoon_port: 1 }));
  expect(plan({ document: other, version, nodeHas }, desired).actions.map(({ kind }) => kind)).toEqual(["restart"]);
});

const matches = () => matchesSomeVersion(readDocument(confOf(named(lagoonKeys))), desired.monitor);

test("recognizes a correct file with the new naming for an unknown version", () => {
  expect([matches(), withRows(nodeReleases, published, matches)]).toEqual([true, false]);
});

test("reports the keys that the version reads, and knows the new ones for every version", () => {
  expect(linted(confOf(named(lagoonKeys)), "0.99.0")).toEqual([]);
  expect(linted(confOf(named(storageKeys)), "0.99.0")[0]).toBe(
    "other-version storage_enable_cetina is silently ignored: node 0.99.0 reads the lagoon_* names (0.99.0 and later). rename it to lagoon_enable.",
  );
  expect(linted(confOf(named(lagoonKeys)), "0.16.2")[0]).toBe(
    "other-version lagoon_enable is silently ignored: node 0.16.2 reads the storage_* names (0.16.0 to before 0.99.0). rename it to storage_enable_cetina.",
  );
  expect(linted(confOf(named(lagoonKeys)))).toEqual([]);
  expect(linted(confOf({ lagoon_port: 1, [pamirKeys.pushPort]: 1 }))[0]).toBe(
    "other-version lagoon_port has one version's name, but other keys have another version's; a node uses only one set. keep the lagoon_* names for 0.99.0 and later, the storage_* names for 0.16.0 to before 0.99.0, the pamir names before.",
  );
  expect(linted(confOf({ lagoon_port: "x" }), "0.99.0")[0]).toContain("wrong-type lagoon_port");
});

const target = { jobName: "node-7", pushAddress: "10.0.0.1", pushPort: 9292, pushIntervalSeconds: 5 };

test("writes and reads only the new names in the devnet's node.conf", () => {
  const version = "0.99.0-rc.1";
  const workspace = locateWorkspace({ directory: "/srv/node", version, nodeDirectory: "node" });
  expect(workspace.configPath).toBe("/srv/node/bin/node.conf");
  const ports = { http: 18_100, webSocket: 18_200, rpc: 20_000, tcp: 19_000 };
  const text = formatNodeConf({ version, workspace, hostIp: "127.0.0.1", ports, monitor: target });
  expect(monitorOf(text)).toEqual(named(lagoonKeys));
  expect(readMonitorSettings(version, named(lagoonKeys))).toEqual(target);
  expect(readMonitorSettings(version, named(storageKeys))).toBeUndefined();
  expect(readMonitorSettings("0.98.0", named(lagoonKeys))).toBeUndefined();
});

test("writes the new names in a deployment's node.conf", () => {
  const args = {
    ...target,
    version: "0.99.0",
    host: { kind: "fixed", address: "10.0.0.9" },
    peerPort: 19_000,
  } as const;
  for (const { content } of [buildDevnetConfSeed(args), buildNodeConfSeed(args, {})]) {
    expect(monitorOf(content)).toEqual(named(lagoonKeys));
  }
});

/** Lists the policies' violations in a `monitor_config`. */
function listPolicyFindings(monitor: Readonly<Record<string, unknown>>): readonly string[] {
  const findings = lintNodeConfiguration(confOf(monitor), "0.99.0");
  return findings.filter((finding) => finding.includes("monitor_config"));
}

test("reports a missing new key and keys of another naming in the policies", () => {
  expect(listPolicyFindings(named(lagoonKeys))).toEqual([]);
  const { lagoon_job: _, ...without } = named(lagoonKeys);
  expect(listPolicyFindings(without)).toEqual([
    "chain.monitor_config does not have lagoon_job, which node 0.99.0 needs",
  ]);
  expect(listPolicyFindings({ ...named(lagoonKeys), lagoon_enable: false })).toEqual([
    "chain.monitor_config.lagoon_enable is false, so the node pushes no metrics",
  ]);
  expect(listPolicyFindings(named(storageKeys)).join("\n")).toContain("rename it to lagoon_enable.");
});
