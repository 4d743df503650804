import { expect, test } from "vitest";
import { deriveFilesCondition } from "./files-condition.ts";

const policy = {
  setting: "gateway.policyPath",
  path: "/etc/policy.json5",
  sha256: "00",
  readAt: "2026-01-01T12:00:00.000Z",
};
const keys = { ...policy, setting: "gateway.callers.keysPath", path: "/etc/keys.json5" };

test("without a file that is read again there is nothing to say", () => {
  expect(deriveFilesCondition([])).toBeUndefined();
});

test("files that are in force are right, and named", () => {
  expect(deriveFilesCondition([policy, keys])).toEqual({
    type: "FilesLoaded",
    status: "True",
    reason: "Loaded",
    message: "The content of /etc/policy.json5, /etc/keys.json5 is active.",
  });
});

test("one that is refused is wrong, with the reason and what is in force instead", () => {
  expect(deriveFilesCondition([{ ...policy, problems: ["ranges: no.", "tiers: no."] }, keys])).toEqual({
    type: "FilesLoaded",
    status: "False",
    reason: "Rejected",
    message:
      "/etc/policy.json5 (gateway.policyPath) is invalid: ranges: no. tiers: no. The content read at 2026-01-01T12:00:00.000Z stays active. " +
      "Fix the file: it is reloaded when saved.",
  });
});
