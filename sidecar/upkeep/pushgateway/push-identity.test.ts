import { expect, test } from "vitest";
import { parseConfig } from "#node/conf/document.ts";
import { findNaming } from "#node/conf/monitor-config.ts";
import { parseNodeVersion } from "#node/versions.ts";
import { buildPushIdentity } from "./evaluate-pushes.ts";

const version = parseNodeVersion("0.16.2");

function document(monitor: string) {
  const parsed = parseConfig(Buffer.from(`{ "chain": { ${monitor} } }`));
  return parsed.ok ? parsed.document : undefined;
}

test("pushes under the instance key of its release", () => {
  const versionBefore = parseNodeVersion("0.15.9");
  const monitor = { enable_pamir_cetina: true, pamir_cetina_job_name: "all", pamir_cetina_instance_name: "node-7" };
  const writtenConfig = document(`"monitor_config": ${JSON.stringify(monitor)}`);
  expect(buildPushIdentity(writtenConfig, versionBefore)).toEqual({
    job: "all",
    instance: "node-7",
    intervalSeconds: 10,
  });
});

function pushing(isEnabled: boolean, named = version): string {
  if (named === undefined) throw new Error("no version");
  const { own } = findNaming(named);
  const monitor = { [own.enabled]: isEnabled, [own.jobName]: "node-7", [own.pushIntervalSeconds]: 5 };
  return `"monitor_config": ${JSON.stringify(monitor)}`;
}

test("distinguishes a node not configured to push from one with an unknown configuration", () => {
  expect(buildPushIdentity(document(pushing(true)), version)).toEqual({ job: "node-7", intervalSeconds: 5 });
  expect(buildPushIdentity(document(""), version)).toBeUndefined();
  expect(buildPushIdentity(document(pushing(false)), version)).toBeUndefined();
  expect(buildPushIdentity(undefined, version)).toBe("unknown");
  expect(buildPushIdentity(undefined, undefined)).toBe("unknown");
});

test.each(["0.15.0", "0.16.2"])("uses the %s names found in node.conf if the node version is unknown", (names) => {
  const named = document(pushing(true, parseNodeVersion(names)));
  expect(buildPushIdentity(named, undefined)).toEqual({ job: "node-7", intervalSeconds: 5 });
  expect(buildPushIdentity(document(pushing(false)), undefined)).toBeUndefined();
});
