import {
  createLedgerFolder,
  startFacilitator,
  type RunningFacilitator,
} from "../support/facilitator/running-facilitator.ts";
import { signPayment, type PaymentBody } from "../support/facilitator/signed-payment.ts";
import { startPaymentChain } from "../support/payments/payment-chain.ts";
import { explainMissingPostgres, startPostgres } from "../support/postgres.ts";

/** Speed of one store, in calls per second. */
type Speed = Readonly<{ store: string; verify: number; settle: number }>;

const blockTimeSeconds = 0.2;
const settlements = 512;
const verifications = 1_024;
const concurrency = 64;

await using resources = new AsyncDisposableStack();
const chain = resources.use(await startPaymentChain({ blockTimeSeconds }));
const folder = resources.use(await createLedgerFolder());
const place = { rpcUrl: chain.url, token: chain.token };
process.stdout.write(
  `\nFacilitator: ${concurrency} calls at a time, a block every ${blockTimeSeconds} s, node, load and service on one machine ` +
    `(Node ${process.version})\n`,
);

const sqlite = await measure("SQLite", { GATEHOUSE_FACILITATOR_LEDGER_PATH: folder.path("bench") });
const missing = explainMissingPostgres();
if (missing === undefined) {
  const server = resources.use(await startPostgres());
  const postgres = await measure("PostgreSQL", {
    GATEHOUSE_FACILITATOR_LEDGER_PATH: "",
    GATEHOUSE_FACILITATOR_LEDGER_URL: await server.createDatabase(),
  });
  const ratio = (of: "verify" | "settle") => (postgres[of] / sqlite[of]).toFixed(2);
  process.stdout.write(`  PostgreSQL to SQLite: verify ${ratio("verify")}, settle ${ratio("settle")}\n`);
} else {
  process.stdout.write(`  PostgreSQL was not measured: ${missing}\n`);
}

async function measure(store: string, env: Readonly<Record<string, string>>): Promise<Speed> {
  await using facilitator = await startFacilitator({ ...place, ledgerPath: "", env });
  const payments = await sign(settlements);
  await measureRate(verifications / 4, payments, facilitator.verify);
  const verify = await measureRate(verifications, payments, facilitator.verify);
  const settle = await measureRate(settlements, payments, facilitator.settle);
  process.stdout.write(`  ${store}: ${verify} verify/s, ${settle} settle/s\n`);
  return { store, verify, settle };
}

async function sign(count: number): Promise<readonly PaymentBody[]> {
  const payments: PaymentBody[] = [];
  while (payments.length < count) payments.push(await signPayment(chain.token));
  return payments;
}

/** Makes calls, some at a time, each with the next payment, and returns how many per second; every one has to go well. */
async function measureRate(
  calls: number,
  payments: readonly PaymentBody[],
  call: RunningFacilitator["verify"] | RunningFacilitator["settle"],
): Promise<number> {
  let made = 0;
  const began = performance.now();
  const worker = async (): Promise<void> => {
    while (made < calls) {
      const payment = payments[made % payments.length];
      made += 1;
      const { body } = await call(payment);
      const good = "isValid" in body ? body.isValid : body.success;
      if (!good) throw new Error(`the benchmark's payment was refused: ${JSON.stringify(body)}`);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return Math.round((calls * 1_000) / (performance.now() - began));
}
