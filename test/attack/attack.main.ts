import { parseArgs } from "node:util";
import { print } from "../bench/gateway/table.ts";
import { attackSidecar, type Phase } from "./attack-run.ts";
import { startLocalSidecar } from "./attacked-sidecar.ts";
import { judgePhase } from "./verdict.ts";

/** Attacks a sidecar of this checkout, without a container: `--seconds` in all, `--only` some of the attacks, separated by commas. */
const { values } = parseArgs({ options: { seconds: { type: "string", default: "60" }, only: { type: "string" } } });

const show = ({ attack, reached, requests, p99Ms, worstMs, controlP99Ms, failures, told, memoryMiB }: Phase) => {
  print(attack, [
    {
      reached,
      requests,
      "p99 ms": p99Ms,
      "worst ms": worstMs,
      "control p99 ms": controlP99Ms,
      failed: failures.length,
      memoryMiB,
    },
    ...[...new Set(failures)].slice(0, 3).map((failure) => ({ failure })),
    ...told.slice(0, 5).map((said) => ({ said })),
  ]);
};
const only = values.only?.split(",");
const report = await attackSidecar({ seconds: Number(values.seconds), only }, startLocalSidecar, show);
const { undisturbed, attacked, peakMiB, ends } = report;
print(
  `other callers under attack, ${values.seconds} s in all`,
  [undisturbed, ...attacked].map((phase) => judgePhase(undisturbed, phase)),
);
print("in all", [{ peakMiB, ends }]);
