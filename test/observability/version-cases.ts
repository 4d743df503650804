import { conditionCase, target, wrong, type AlertCase } from "./alert-case.ts";

const who = target.instance;

/** What the alerts on the node's version do. */
export const versionCases: readonly AlertCase[] = [
  {
    ...conditionCase({
      alert: "GatehouseVersionTooOld",
      type: "VersionSufficient",
      labels: { type: "VersionSufficient", reason: "TooOld" },
      reason: "TooOld",
      forMinutes: 1,
      summary: `The node behind ${who} is of a version that is too old for the chain's height (TooOld).`,
    }),
    nearMiss: { series: wrong("VersionSufficient", "TooOldSoon"), silentAt: [12, 40] },
  },
  {
    ...conditionCase({
      alert: "GatehouseVersionTooOldSoon",
      type: "VersionSufficient",
      labels: { type: "VersionSufficient", reason: "TooOldSoon" },
      reason: "TooOldSoon",
      forMinutes: 10,
      summary: `The chain comes to a height for which the version of the node behind ${who} is too old (TooOldSoon).`,
    }),
    nearMiss: { series: wrong("VersionSufficient", "TooOld"), silentAt: [21, 40] },
  },
];
