import { expect, test } from "vitest";
import { SettingsError } from "#daemon/settings/problem.ts";
import { readSettings } from "#daemon/settings/settings.ts";
import { sidecarSettings } from "../settings.ts";

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    readSettings(sidecarSettings, { env });
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ name, message }) => `${name}: ${message}`);
    throw error;
  }
}

const cron = "GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_CRON";
const zone = "GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_TIME_ZONE";

test("reports an invalid cron expression and time zone together with all other errors", () => {
  const found = problemsOf({ [cron]: "every night", [zone]: "Europe/Atlantis", GATEHOUSE_SIDECAR_LISTEN_PORT: "x" });
  expect(found).toEqual([
    expect.stringMatching(/^GATEHOUSE_SIDECAR_LISTEN_PORT: found "x"; expected a port number/),
    expect.stringMatching(
      /^GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_CRON: found "every night"; .+; expected a cron expression such as 0 3 \* \* \* \(.+\)\.$/,
    ),
    expect.stringMatching(
      /^GATEHOUSE_SIDECAR_RESTART_MAINTENANCE_TIME_ZONE: found "Europe\/Atlantis"; expected a time zone such as UTC or Europe\/Berlin/,
    ),
  ]);
});

test("rejects a cron expression that never fires and accepts one that does", () => {
  expect(problemsOf({ [cron]: "0 0 30 2 *" })).toEqual([
    expect.stringContaining('found "0 0 30 2 *"; it never matches a future time; expected a cron expression'),
  ]);
  expect(problemsOf({ [cron]: "0 3 * * SUN", [zone]: "Asia/Tokyo" })).toEqual([]);
});
