import { describe, expect, test } from "vitest";
import { buildPushUrl } from "./metrics-pusher.ts";
import { readMonitorSettings } from "./monitor-settings.ts";

const storage = {
  storage_enable_cetina: true,
  storage_cetina_job_name: "node-1",
  storage_cetina_push_address: "10.0.0.1",
  storage_cetina_push_interval: 5,
  storage_cetina_push_port: 9091,
};
const pamir = {
  enable_pamir_cetina: true,
  pamir_cetina_job_name: "node-1",
  pamir_cetina_push_address: "10.0.0.1",
  pamir_cetina_push_interval: 5,
  pamir_cetina_push_port: 9091,
};
const read = { jobName: "node-1", pushAddress: "10.0.0.1", pushPort: 9091, pushIntervalSeconds: 5 };

describe("monitor_config", () => {
  test("is read only under the key names of the node's version", () => {
    expect(readMonitorSettings("0.16.0", storage)).toEqual(read);
    expect(readMonitorSettings("0.16.0-rc.1", storage)).toEqual(read);
    expect(readMonitorSettings("0.15.0", pamir)).toEqual(read);
    expect(readMonitorSettings("0.15.0", storage)).toBeUndefined();
    expect(readMonitorSettings("0.16.0", pamir)).toBeUndefined();
  });

  test.each([
    ["metrics disabled", { ...storage, storage_enable_cetina: false }],
    ["an address with a protocol", { ...storage, storage_cetina_push_address: "http://10.0.0.1" }],
    ["a port as text", { ...storage, storage_cetina_push_port: "9091" }],
    ["no job name", { ...storage, storage_cetina_job_name: "" }],
    ["no keys", undefined],
    ["text instead of an object", "storage_enable_cetina"],
  ])("is ignored with %s", (_, config) => {
    expect(readMonitorSettings("0.16.2", config)).toBeUndefined();
  });
});

test.each([
  [{ jobName: "node-1" }, "http://10.0.0.1:9091/metrics/job/node-1"],
  [{ jobName: "node 1%" }, "http://10.0.0.1:9091/metrics/job/node%201%25"],
  [{ jobName: "eu/node" }, "http://10.0.0.1:9091/metrics/job@base64/ZXUvbm9kZQ"],
  [{ pushAddress: "::1" }, "http://[::1]:9091/metrics/job/node-1"],
])("pushes metrics of %j to %s", (settings, url) => {
  expect(buildPushUrl({ ...read, ...settings })).toBe(url);
});
