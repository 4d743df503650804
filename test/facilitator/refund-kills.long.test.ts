import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { runKilled } from "../support/facilitator/killed-refund.ts";
import { runGatehouse } from "../support/run-command.ts";
import { startPaymentChain, testAccount } from "../support/payments/payment-chain.ts";
import {
  buildFacilitatorEnvironment,
  createLedgerFolder,
  startFacilitator,
} from "../support/facilitator/running-facilitator.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

/** More requests than a refund makes before its transaction is mined. */
const requestsMax = 12;

it("the next run completes a refund once after a kill at any request to the node", async () => {
  await using chain = await startPaymentChain();
  await using ledgers = await createLedgerFolder();
  const place = { rpcUrl: chain.url, token: chain.token, ledgerPath: ledgers.path("kills") };
  const env = buildFacilitatorEnvironment(place);
  const keyFile = ledgers.path("payee.key");
  await writeFile(keyFile, testAccount(2).privateKey);
  const points = Array.from({ length: 2 * requestsMax }, (_, at) => ({ at: 1 + (at >> 1), isBefore: at % 2 === 0 }));
  {
    await using facilitator = await startFacilitator(place);
    const settled = points.map(async () => (await facilitator.settle(await signPayment(chain.token))).body.success);
    expect((await Promise.all(settled)).every(Boolean)).toBe(true);
  }
  const { stdout } = await runGatehouse(["ledger", "export"], env);
  const payments = [...stdout.matchAll(/eip155:1672\|[^,]+/g)].map(([name]) => name);
  expect(payments).toHaveLength(points.length);
  let kills = 0;
  for (const [index, { at, isBefore }] of points.entries()) {
    const args = ["ledger", "refund", payments[index] ?? "", "--key-file", keyFile, "--yes"];
    const balanceBefore = await chain.balanceOf(testAccount(1).address);
    const killed = await runKilled(
      args,
      { env, rpcUrl: chain.url },
      (_, number, response) => number === at && (response === undefined) === isBefore,
    );
    if (killed.status === null) kills += 1;
    const again = await runGatehouse(args, env);
    expect([at, isBefore, again.status, again.stdout]).toEqual([
      at,
      isBefore,
      0,
      expect.stringMatching(/refunded:? 10000 by 0x/),
    ]);
    expect((await chain.balanceOf(testAccount(1).address)) - balanceBefore).toBe(amount);
  }
  expect(kills).toBeGreaterThan(requestsMax);
});
