import { statSync } from "node:fs";
import { join } from "node:path";
import { toHex } from "viem";
import { testAccount } from "../../support/payments/payment-chain.ts";
import { print, type Figure } from "../gateway/table.ts";
import { quantile } from "../measurement.ts";
import { fillLedger } from "./filled-ledger.ts";
import { setBlockTime } from "./settlements.ts";
import { startOwn, type Side } from "./sides.ts";
import { signBodies } from "./signed-bodies.ts";
import { compareSides, compareToSide, type PaymentLines } from "./setup.ts";

const empty = "over an empty ledger";
const atOnce = 32;
const verify = { path: "/verify", field: "isValid", good: true, count: 2_500 } as const;
const settle = { path: "/settle", field: "success", good: true, count: 1_024 } as const;

/** Measures our facilitator with a ledger of many settlements, against one with an empty ledger. */
export const ledgerLines: PaymentLines = {
  name: "ledger",
  measure: async ({ chain, place, rounds, ledgerRows }) => {
    await setBlockTime(chain, "automine");
    const ledgerPath = join(place.folder, "filled.sqlite");
    fillLedger(ledgerPath, ledgerRows, place);
    print("ledger", [{ settlements: ledgerRows, MiB: Math.round(statSync(ledgerPath).size / 2 ** 20) }]);
    // Not the signer of the facilitator that the other lines measure.
    const signers = [testAccount(10), testAccount(11)] as const;
    for (const { address } of signers) await chain.anvil.request("anvil_setBalance", [address, toHex(10n ** 20n)]);
    const startMs: number[] = [];
    const start = async (): Promise<Side> => {
      const startedMs = performance.now();
      const side = await startOwn({ ...place, ledgerPath, signer: signers[0] });
      startMs.push(performance.now() - startedMs);
      return side;
    };
    for (let round = 1; round < rounds; round += 1) await (await start())[Symbol.asyncDispose]();
    await using filled = await start();
    await using other = await startOwn({ ...place, signer: signers[1] });
    const sides = [filled, { ...other, name: empty }];
    const figures: Figure[] = [
      { what: "start over a large ledger, ms", figure: quantile(startMs, 0.5), target: { most: 2_000 } },
    ];
    for (const { count, ...operation } of [verify, settle]) {
      const what = `${operation.path}, ${atOnce} at a time, over a large ledger`;
      const sign = (requests: number) => signBodies(place.token, requests);
      const load = { ...operation, what, atOnce, requests: { ours: count, others: count }, sign };
      await compareSides({ sides, rounds: 1 }, { ...load, what: `warm-up of ${what}` });
      const measured = await compareSides({ sides, rounds }, load);
      // Compares CPU: on a shared machine, the rates of two processes differ by more than the effect of a ledger's size.
      const figure = compareToSide(measured, ({ cpuMicros }) => cpuMicros, empty);
      figures.push({ what: `${what}: CPU against an empty one`, figure, target: { most: 1.1 } });
    }
    return figures;
  },
};
