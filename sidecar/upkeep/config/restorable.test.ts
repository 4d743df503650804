import { expect, test } from "vitest";
import { fingerprintConfig } from "#node/conf/config-fingerprint.ts";
import { readNodeValues, type NodeValues } from "#node/conf/node-values.ts";
import { checkRestorable } from "./healthy-config.ts";
import { readDocument } from "#node/testing/read-document.ts";

const pathsDirectory = "/srv/a/bin";
const configWithoutName = '{ "chain": { "monitor_config": {} } }';
const owned = (data: string) => `{ "chain": {}, "storage": { "mygrid_env": { "storage_data_path": "${data}" } } }`;

/** Checks a copy for a node that last ran with the given configuration. */
function judge(copy: string, lastRan: string, over: Parameters<typeof checkRestorable>[2] = {}) {
  const values: NodeValues = readNodeValues(readDocument(lastRan), pathsDirectory);
  const nodeValues = { get: () => values, set: () => undefined };
  const restorableCheck = checkRestorable(Buffer.from(copy), pathsDirectory, over, { nodeValues });
  return restorableCheck.ok ? "restored" : restorableCheck.why;
}

test("rejects a backup with neither a data path nor keys, since it may belong to any node", () => {
  expect(judge(configWithoutName, configWithoutName)).toBe(
    "it has neither a data path nor keys, so it can't be matched to this node",
  );
});

test("restores the configuration that the node last ran with, whatever it contains and whatever is in place now", () => {
  expect(judge(configWithoutName, configWithoutName, { ran: fingerprintConfig(readDocument(configWithoutName)) })).toBe(
    "restored",
  );
  const standingConfig = readDocument(owned("/srv/b/data"));
  expect(judge(owned("../data"), owned("../data"), { standing: standingConfig })).toContain(
    "storage_data_path is /srv/a/data in the backup",
  );
  const ran = fingerprintConfig(readDocument(owned("../data")));
  expect(judge(owned("../data"), owned("../data"), { standing: standingConfig, ran })).toBe("restored");
});

test("recognizes a last-run configuration stored by an earlier version", () => {
  // What version 0.1.0 stored for the text of `configWithoutName`.
  const ran =
    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a-5140a4f4b6ea2a3d4a376f4edf223bcc4d95b1657d49f26caa4a1c7ba39055a0";
  expect(judge(configWithoutName, configWithoutName, { ran })).toBe("restored");
  const other = '{ "chain": { "monitor_config": { "more": 1 } } }';
  expect(judge(other, other, { ran })).toContain("it has neither a data path nor keys");
});

test("never restores a backup with a data path other than that of the last run", () => {
  const ran = fingerprintConfig(readDocument(owned("/srv/b/data")));
  expect(judge(owned("/srv/b/data"), owned("../data"), { ran })).toContain(
    "storage_data_path is /srv/b/data in the backup",
  );
});
