import { pino } from "pino";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createMetrics } from "#daemon/metrics.ts";
import { Secret } from "#daemon/secrets/secret.ts";
import { createFacilitator, facilitatorDefaults } from "#facilitator/facilitator.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startPaymentChain, testAccount } from "../support/payments/payment-chain.ts";
import { createLedgerFolder } from "../support/facilitator/running-facilitator.ts";
import { signPayment } from "../support/facilitator/signed-payment.ts";

/** Age of a settlement that even a lagging node must know. */
const minuteMs = 60_000;

test("counts and logs a settlement that the chain lost, until it is mined again", async () => {
  await using chain = await startPaymentChain();
  await using folder = await createLedgerFolder();
  const metrics = createMetrics("facilitator");
  const lines: string[] = [];
  let aheadMs = 0;
  await using facilitator = await createFacilitator(
    {
      chain: { ...facilitatorDefaults.chain, id: 1_672, rpcUrl: chain.url },
      signer: { privateKey: [new Secret(testAccount(0).privateKey)] },
      assets: [{ address: chain.token, name: "USDC", version: "2" }],
      payees: [],
      ledger: { ...facilitatorDefaults.ledger, path: folder.path("compared"), compareIntervalMs: 1_000 },
      settlement: facilitatorDefaults.settlement,
    },
    {
      log: pino({ level: "error" }, { write: (line: string) => void lines.push(line) }),
      metrics,
      clock: () => Date.now() + aheadMs,
      monotonicMs: () => performance.now(),
      signal: new AbortController().signal,
    },
  );
  const mismatches = async () => {
    const [, value = ""] =
      /^gatehouse_facilitator_ledger_mismatches\{network="eip155:1672"\} (\S+)$/m.exec(await metrics.metrics()) ?? [];
    return value;
  };
  const becomes = (value: string) =>
    until(`${value} mismatches`, generousMs, async () => (await mismatches()) === value);
  await becomes("0");

  const snapshot = await chain.anvil.request<Hex>("evm_snapshot", []);
  const { transaction } = (await facilitator.settle(await signPayment(chain.token), {
    seller: undefined,
    idempotencyKey: "a-sale",
  })) as { transaction: Hex };
  const raw = await chain.anvil.request<Hex>("eth_getRawTransactionByHash", [transaction]);
  aheadMs = minuteMs;
  await until("it was compared", generousMs, async () =>
    /^gatehouse_facilitator_ledger_reconciled_timestamp_seconds\{network="eip155:1672"\} \d/m.test(
      await metrics.metrics(),
    ),
  );
  expect(await mismatches()).toBe("0");

  await chain.anvil.request("evm_revert", [snapshot]);
  await becomes("1");
  const notOnChain = "the ledger has a payment as settled, but the chain does not have it";
  const reported = () =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === notOnChain);
  await until("it is reported", generousMs, () => reported().length > 0);
  expect(reported()).toEqual([
    expect.objectContaining({
      transaction,
      found: expect.stringContaining("no receipt"),
      payer: testAccount(1).address.toLowerCase(),
    }),
  ]);

  await chain.anvil.request("eth_sendRawTransaction", [raw]);
  await becomes("0");
});
