import { parseArgs } from "node:util";
import { watchOutput } from "#daemon/command-line/lost-output.ts";
import { print } from "../bench/gateway/table.ts";
import { attackSidecar, type Phase } from "./attack-run.ts";
import { startLocalSidecar } from "./attacked-sidecar.ts";
import { attackMarket } from "./payments/market-run.ts";
import { startMarket } from "./payments/market.ts";
import { printVerdicts, showPhase } from "./verdict.ts";

process.once("exit", watchOutput(process.stdout));

/**
 * Attacks a sidecar of this checkout, or with `--payments` a facilitator and a resource server, without a container:
 * `--seconds` in total, `--only` some of the attacks, separated by commas.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    only: { type: "string" },
    payments: { type: "boolean", default: false },
  },
});

const show = (phase: Phase) => void process.stdout.write(`${showPhase(phase)}\n`);
const only = values.only?.split(",");
const options = { seconds: Number(values.seconds), only };
const report = values.payments ? await attackPayments() : await attackSidecar(options, startLocalSidecar, show);
printVerdicts(`other callers under attack, ${values.seconds} s in total`, report);
print("in all", [{ peakMiB: report.peakMiB, ends: report.ends }]);

async function attackPayments() {
  await using market = await startMarket();
  const made = await attackMarket(options, market, show);
  print("payments", [{ ...(await market.counts()), ledgerBytes: await market.ledgerBytes(), forged: market.forged() }]);
  return made;
}
