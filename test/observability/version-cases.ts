import { buildConditionCase, target, buildWrong, type AlertCase } from "./alert-case.ts";

const who = target.instance;

export const versionCases: readonly AlertCase[] = [
  {
    ...buildConditionCase({
      alert: "GatehouseVersionOutdated",
      severity: "critical",
      type: "VersionSupported",
      labels: { type: "VersionSupported", reason: "Outdated" },
      reason: "Outdated",
      forMinutes: 1,
      summary: `The node behind ${who} runs a version that is too old for the chain's height (Outdated).`,
    }),
    nearMiss: { series: buildWrong("VersionSupported", "OutdatedSoon"), silentAt: [12, 40] },
  },
  {
    ...buildConditionCase({
      alert: "GatehouseVersionOutdated",
      severity: "warning",
      type: "VersionSupported",
      labels: { type: "VersionSupported", reason: "OutdatedSoon" },
      reason: "OutdatedSoon",
      forMinutes: 10,
      summary: `The chain will soon reach a height for which the version of the node behind ${who} is too old (OutdatedSoon).`,
    }),
    nearMiss: { series: buildWrong("VersionSupported", "Outdated"), silentAt: [21, 40] },
  },
];
