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
    message: "What stands in /etc/policy.json5, /etc/keys.json5 is in force.",
  });
});

test("one that is refused is wrong, with the reason and what is in force instead", () => {
  expect(deriveFilesCondition([{ ...policy, problems: ["ranges: no.", "tiers: no."] }, keys])).toEqual({
    type: "FilesLoaded",
    status: "False",
    reason: "Rejected",
    message:
      "/etc/policy.json5 (gateway.policyPath) can't be used: ranges: no. tiers: no. What was read there at 2026-01-01T12:00:00.000Z is in force. " +
      "Fix the file: it is read again as you save it.",
  });
});
