import { buildConditionCase, target, buildWrong, type AlertCase } from "./alert-case.ts";

const who = target.instance;

export const versionCases: readonly AlertCase[] = [
  {
    ...buildConditionCase({
      alert: "GatehouseVersionTooOld",
      type: "VersionSufficient",
      labels: { type: "VersionSufficient", reason: "TooOld" },
      reason: "TooOld",
      forMinutes: 1,
      summary: `The node behind ${who} is of a version that is too old for the chain's height (TooOld).`,
    }),
    nearMiss: { series: buildWrong("VersionSufficient", "TooOldSoon"), silentAt: [12, 40] },
  },
  {
    ...buildConditionCase({
      alert: "GatehouseVersionTooOldSoon",
      type: "VersionSufficient",
      labels: { type: "VersionSufficient", reason: "TooOldSoon" },
      reason: "TooOldSoon",
      forMinutes: 10,
      summary: `The chain comes to a height for which the version of the node behind ${who} is too old (TooOldSoon).`,
    }),
    nearMiss: { series: buildWrong("VersionSufficient", "TooOld"), silentAt: [21, 40] },
  },
];
