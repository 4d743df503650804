import { expect, test } from "vitest";
import { readSettings } from "#daemon/settings/settings.ts";
import { strictOpensAfterSeconds } from "./node-profile.ts";
import { devnetSettings } from "./settings.ts";

test("waits for a strict node's ports and for its chain", () => {
  const { start } = readSettings(devnetSettings, { env: { GATEHOUSE_DEVNET_PROFILE: "strict" } });
  const chainMs = 60_000;
  expect(start.deadlineMs).toBeGreaterThan(strictOpensAfterSeconds * 1_000 + chainMs);
});
