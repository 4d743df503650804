import { expect, test } from "vitest";
import { hasNewLayout, hasStorageKeys, imageVersion, parseNodeVersion } from "./node-version.ts";
import { resolveVersion } from "./version-resolution.ts";

test.each([
  ["0.16.2", "0.16.2"],
  ["v0.11", "0.11.0"],
  ["node_cli v0.16.0-rc.1 (abc123)", "0.16.0"],
  ["node/v0.10.3/linux-amd64/go1.22", "0.10.3"],
  ["no version", undefined],
])("%s counts as %s", (text, release) => {
  expect(parseNodeVersion(text)?.release).toBe(release);
});

test.each([
  ["0.10.9", false, false],
  ["0.11.0-rc.1", true, false],
  ["0.15.9", true, false],
  ["0.16.0-beta.2", true, true],
  ["1.2.3", true, true],
])("%s: new layout %s, storage keys %s", (text, layout, keys) => {
  const version = parseNodeVersion(text);
  expect(version !== undefined && [hasNewLayout(version), hasStorageKeys(version)]).toEqual([layout, keys]);
});

test.each([
  ["registry.example:5000/node:0.16.2", "0.16.2"],
  ["registry.example:5000/node", undefined],
  ["node:v0.15.0@sha256:0000", "0.15.0"],
  ["node:latest", undefined],
])("image %s says %s", (image, release) => {
  expect(imageVersion(image)?.release).toBe(release);
});

test("the setting counts before node_cli, the RPC and the image; who disagrees is named", () => {
  const sources = { nodeCli: "node_cli 0.15.0", clientVersion: "node/v0.16.0-rc.2/x", image: "node:0.16.0" };
  expect(resolveVersion({ ...sources, setting: "0.16.0" })).toMatchObject({
    source: "node.version",
    disagreements: ["node_cli --version says 0.15.0"],
  });
  expect(resolveVersion(sources)).toMatchObject({ source: "node_cli --version", version: { release: "0.15.0" } });
  expect(resolveVersion({})).toEqual({ disagreements: [] });
});
