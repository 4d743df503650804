import { expect, test } from "vitest";
import { versionTraits } from "./node-version.ts";

test.each([
  ["0.10.3", "legacy", "pamir"],
  ["v0.11", "current", "pamir"],
  ["0.11.0-rc.1", "current", "pamir"],
  ["0.15.9", "current", "pamir"],
  ["0.16.0-rc.1", "current", "storage"],
  ["0.16.2", "current", "storage"],
  ["1.0.0+build.7", "current", "storage"],
])("v%s has the %s layout and %s keys", (version, layout, monitorKeys) => {
  expect(versionTraits(version)).toEqual({ layout, monitorKeys });
});
