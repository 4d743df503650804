import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import {
  startFacilitator,
  startFacilitatorInProcess,
  type FacilitatorClient,
  type FacilitatorLocation,
} from "../support/facilitator/running-facilitator.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";
import { explainMissingPostgres, startPostgres, type PostgresServer } from "../support/postgres.ts";

const missing = explainMissingPostgres();
const payee = testAccount(2).address;

describe.skipIf(missing !== undefined)(
  `two networks with PostgreSQL${missing === undefined ? "" : ` (${missing})`}`,
  () => {
    const resources = new AsyncDisposableStack();
    let chains: readonly [PaymentChain, PaymentChain];
    let postgres: PostgresServer;
    let databaseUrl: string;
    let place: FacilitatorLocation;
    beforeAll(async () => {
      chains = await Promise.all([startPaymentChain(), startPaymentChain({ chainId: 1_673 })]);
      for (const chain of chains) resources.use(chain);
      postgres = resources.use(await startPostgres());
      databaseUrl = await postgres.createDatabase();
      const [one, other] = chains;
      const network = {
        chain: { id: 1_673, rpcUrl: other.url },
        assets: [{ address: other.token, name: "USDC", version: "2" }],
      };
      const env = {
        GATEHOUSE_FACILITATOR_NETWORKS: JSON.stringify([network]),
        GATEHOUSE_FACILITATOR_LEDGER_PATH: "",
        GATEHOUSE_FACILITATOR_LEDGER_URL: databaseUrl,
      };
      place = { rpcUrl: one.url, token: one.token, ledgerPath: "", env };
    });
    afterAll(() => resources.disposeAsync());

    const balances = () => Promise.all(chains.map((chain) => chain.balanceOf(payee)));
    const sign = () => Promise.all(chains.map(({ token }, index) => signPayment(token, { chainId: 1_672 + index })));
    const settle = (facilitator: FacilitatorClient, payments: Awaited<ReturnType<typeof sign>>) =>
      Promise.all(payments.map((payment) => facilitator.as("a sale").settle(payment)));
    const inFlight = () => postgres.query(databaseUrl, "SELECT hash FROM gatehouse_facilitator.attempt");

    test("settles payments in flight on both networks once after kill -9 and a restart", async () => {
      const balancesBefore = await balances();
      const first = await startFacilitator(place);
      expect(await settle(first, await sign())).toMatchObject([
        { body: { success: true } },
        { body: { success: true } },
      ]);
      await Promise.all(chains.map(({ anvil }) => anvil.request("evm_setIntervalMining", [3_600])));
      const [cut, sentBefore] = [await sign(), (await inFlight()).length];
      const brokenError = settle(first, cut).catch(() => undefined);
      await until("both are sent", generousMs, async () => (await inFlight()).length === sentBefore + 2);
      await first.process.end("SIGKILL");
      await brokenError;

      await using next = await startFacilitatorInProcess(place);
      const pendingSettlement = settle(next, cut);
      await Promise.all(chains.map(({ anvil }) => anvil.request("evm_setIntervalMining", [1])));
      expect(await pendingSettlement).toMatchObject([{ body: { success: true } }, { body: { success: true } }]);
      expect(await balances()).toEqual(balancesBefore.map((balance) => balance + 2n * amount));
      expect(
        await postgres.query(
          databaseUrl,
          "SELECT chain_id, count(*) FROM gatehouse_facilitator.settlement WHERE state = 'settled' GROUP BY chain_id ORDER BY chain_id",
        ),
      ).toEqual([1_672, 1_673].map((id) => ({ chain_id: String(id), count: "2" })));
    });
  },
);
