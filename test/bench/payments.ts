import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { watchOutput } from "#daemon/command-line/lost-output.ts";
import { compilePrograms } from "../support/programs/compile.ts";
import { startPaymentChain } from "../support/payments/payment-chain.ts";
import { formatVerdicts, judge, print } from "./gateway/table.ts";
import type { Measurement } from "./measurement.ts";
import { ledgerLines } from "./payments/ledger.ts";
import { memoryLines } from "./payments/memory.ts";
import { automineLines, blockLines, setBlockTime } from "./payments/settlements.ts";
import { measureSales } from "./payments/sales.ts";
import { startOwn, startReference, startX402Rs } from "./payments/sides.ts";
import type { PaymentLines } from "./payments/setup.ts";
import { voucherLines } from "./payments/vouchers.ts";
import { verificationLines } from "./payments/verifications.ts";
import { describeLoad, saveResults } from "./save-results.ts";

process.once("exit", watchOutput(process.stdout));

/**
 * Measures our facilitator against the published reference facilitator and, if `x402-facilitator` is on PATH, x402-rs:
 * in one run, on one anvil, in turn. `--rounds` of each line; `--only` some lines, separated by semicolons; `--memory`
 * seconds for which our memory is monitored; `--ledger` settlements of the large ledger, 3 KB each; `--save` writes the verdicts into `docs/benchmarks.md`, with `--note`
 * about other load on the machine.
 */
const suites: readonly PaymentLines[] = [
  verificationLines,
  automineLines,
  blockLines,
  voucherLines,
  memoryLines,
  ledgerLines,
  { name: "sales", measure: ({ rounds }) => measureSales({ rounds, sales: 1_500, atOnce: 64 }) },
];

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: suites.map(({ name }) => name).join(";") },
    memory: { type: "string", default: "30" },
    ledger: { type: "string", default: "200000" },
    save: { type: "boolean", default: false },
    note: { type: "string" },
  },
});
const load = describeLoad();
await compilePrograms();
await using resources = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "gatehouse-bench-"));
resources.defer(() => rm(folder, { recursive: true }));
const chain = resources.use(await startPaymentChain({ blockTimeSeconds: 3_600 }));
await setBlockTime(chain, "automine");
const place = { rpcUrl: chain.url, token: chain.token, folder };
const sides = [resources.use(await startOwn(place)), resources.use(await startReference(place))];
const rust = await startX402Rs(chain, place);
if (rust === undefined) process.stdout.write("x402-rs is not measured: x402-facilitator is not on PATH\n");
else sides.push(resources.use(rust));
const seconds = { memorySeconds: Number(values.memory) };
const setup = {
  chain,
  place,
  sides,
  rounds: Number(values.rounds),
  ...seconds,
  ledgerRows: Number(values.ledger),
};
print("machine", [{ node: process.version, load }]);
const measured = new Map<string, readonly Measurement[]>();
for (const name of values.only.split(";")) {
  const suite = suites.find((one) => one.name === name);
  if (suite === undefined)
    throw new Error(`--only has "${name}"; the lines are ${suites.map((one) => one.name).join("; ")}`);
  const measurements = judge(await suite.measure(setup));
  print(name, formatVerdicts(measurements));
  measured.set(`payments: ${name}`, measurements);
}
if (values.save) {
  const how = [`${values.rounds} rounds`, ...(values.note === undefined ? [] : [values.note])].join(", ");
  await saveResults(measured, load, { how });
}
