import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DatabaseSync } from "node:sqlite";
import { createClaim } from "#resource-server/testing/claim-ledger-contract.ts";
import { openTestLedger } from "#resource-server/testing/claim-store.ts";
import { runKilled, type KillPoint } from "../support/facilitator/killed-refund.ts";
import { runInProcess } from "../support/command-in-process.ts";
import { explainMissingPostgres, startPostgres } from "../support/postgres.ts";
import { runGatehouse } from "../support/run-command.ts";
import { takeSlice } from "../support/run-size.ts";
import { startPaymentChain, testAccount, type PaymentChain } from "../support/payments/payment-chain.ts";
import {
  buildFacilitatorEnvironment,
  createLedgerFolder,
  startFacilitatorInProcess,
} from "../support/facilitator/running-facilitator.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

const resources = new AsyncDisposableStack();
const [payer, payee] = [testAccount(1), testAccount(2)];
let chain: PaymentChain;
let env: Record<string, string>;
let keyFile: string;
/** Names of settled payments, each refunded by one test. */
let payments: string[];

beforeAll(async () => {
  chain = resources.use(await startPaymentChain());
  const ledgers = resources.use(await createLedgerFolder());
  const sellers = {
    GATEHOUSE_FACILITATOR_API_KEYS: "alice=the-key-of-seller-A, zoe=the-key-of-seller-Z, the-key-of-seller-B",
    GATEHOUSE_FACILITATOR_SELLERS: JSON.stringify([{ name: "alice" }, { name: "zoe" }]),
  };
  const place = { rpcUrl: chain.url, token: chain.token, ledgerPath: ledgers.path("refunds"), env: sellers };
  env = buildFacilitatorEnvironment(place);
  keyFile = ledgers.path("payee.key");
  await writeFile(keyFile, payee.privateKey.slice(2));
  await using facilitator = await startFacilitatorInProcess(place);
  const settle = async (key: string) => {
    const { body } = await facilitator.as({ "X-API-Key": key }).settle(await signPayment(chain.token));
    expect(body).toMatchObject({ success: true });
  };
  const ofAlice = Array.from({ length: 8 }, () => settle("the-key-of-seller-A"));
  await Promise.all([...ofAlice, settle("the-key-of-seller-B")]);
  const busy = await runInProcess(["ledger", "export"], env);
  expect([busy.status, busy.stderr]).toEqual([
    1,
    expect.stringMatching(/is in use; stop the facilitator, or run it with --hot-restart\./),
  ]);
  await facilitator[Symbol.asyncDispose]();
  payments = (await exportRows()).filter(({ seller }) => seller === "alice").map((row) => String(row["payment"]));
});

afterAll(() => resources.disposeAsync());

type Row = Readonly<Record<string, string>>;

async function exportRows(args: readonly string[] = [], status = 0): Promise<readonly Row[]> {
  const run = await runInProcess(["ledger", "export", ...args], env);
  expect([run.status, run.stderr]).toEqual([status, status === 0 ? "" : expect.any(String)]);
  const [head = "", ...lines] = run.stdout.split("\r\n").slice(0, -1);
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, at) => [names[at] ?? "", cell])));
}

const refundArgs = (payment: string, ...more: string[]) => [
  "ledger",
  "refund",
  payment,
  "--key-file",
  keyFile,
  "--yes",
  ...more,
];
const refund = (payment: string, ...more: string[]) => runInProcess(refundArgs(payment, ...more), env);

const isSending = (body: string) => body.includes("eth_sendRawTransaction");

async function measureGain(work: () => Promise<void>): Promise<bigint> {
  const balanceBefore = await chain.balanceOf(payer.address);
  await work();
  return (await chain.balanceOf(payer.address)) - balanceBefore;
}

describe("gatehouse ledger export", () => {
  it("writes a seller's settlements with their chain and claim states", async () => {
    const [network = "", asset = "", from = "", nonce = ""] = payments[0]?.split("|") ?? [];
    const claims = env["GATEHOUSE_FACILITATOR_LEDGER_PATH"]?.replace("refunds", "claims") ?? "";
    {
      await using ledger = await openTestLedger(claims);
      await ledger.claim({ ...createClaim(), key: { network, asset, payer: from, nonce } });
    }
    const rows = await exportRows(["--seller", "alice", "--to", "2100-01-01", "--claims", claims]);
    expect(rows).toHaveLength(8);
    const [first] = rows;
    expect(rows.map(({ claim }) => claim)).toEqual(["working", ...Array.from({ length: 7 }, () => "none")]);
    expect(first).toMatchObject({
      seller: "alice",
      payer: payer.address.toLowerCase(),
      payee: payee.address.toLowerCase(),
      asset: chain.token.toLowerCase(),
      amount: String(amount),
      state: "settled",
      chain: "agrees",
    });
    expect(first?.["payment"]).toMatch(/^eip155:1672\|0x[0-9a-f]{40}\|0x[0-9a-f]{40}\|0x[0-9a-f]{64}$/);
    // Chain 1672 charges the whole gas limit.
    const { gas, gasPrice } = await chain.anvil.request<{ gas: string; gasPrice: string }>("eth_getTransactionByHash", [
      first?.["transaction"],
    ]);
    expect(BigInt(first?.["gas_paid_wei"] ?? 0)).toBe(BigInt(gas) * BigInt(gasPrice));
    expect(await exportRows(["--to", "2026-01-01"])).toEqual([]);
    // No row can match, and an empty list would look like a month without sales.
    expect(await exportRows(["--from", "2026-12-01", "--to", "2026-11-01"], 1)).toEqual([]);
    expect(await runInProcess(["ledger", "export", "--seller", "alise"], env)).toEqual({
      status: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^ledger export: unknown seller "alise"\. Did you mean "alice"\? The settings and the ledger have alice, zoe\.\n$/,
      ),
    });
    expect(await exportRows(["--seller", "zoe"]), "in the settings").toEqual([]);
    const dismissed = { ...env, GATEHOUSE_FACILITATOR_SELLERS: "[]" };
    const { status, stdout } = await runInProcess(["ledger", "export", "--seller", "alice"], dismissed);
    expect([status, stdout.match(/,alice,/g)?.length], "in the ledger").toEqual([0, 8]);
  });

  it("exits with 1 and the count of settlements missing on the chain", async () => {
    const database = new DatabaseSync(env["GATEHOUSE_FACILITATOR_LEDGER_PATH"] ?? "");
    const of = "WHERE id = (SELECT min(id) FROM settlement)";
    const lost = `0x${"ab".repeat(32)}`;
    const hash = database.prepare(`SELECT transaction_hash AS hash FROM settlement ${of}`).get()?.["hash"] as string;
    database.prepare(`UPDATE settlement SET transaction_hash = ? ${of}`).run(lost);
    const run = await runInProcess(["ledger", "export"], env);
    database.prepare(`UPDATE settlement SET transaction_hash = ? ${of}`).run(hash);
    database.close();
    expect([run.status, run.stdout.match(/,not found,/g), run.stdout.match(/\r\n/g)]).toEqual([
      1,
      [",not found,"],
      Array.from({ length: 10 }, () => "\r\n"),
    ]);
    expect(run.stderr).toMatch(/^ledger export: 1 settlements do not reconcile with the chain; .*\n$/);
  });
});

describe("gatehouse ledger refund", () => {
  it("refunds a part once, rejects another amount or key, and exports the refund", async () => {
    const payment = payments[0] ?? "";
    const gain = await measureGain(async () => {
      const { status, stdout } = await refund(payment, "--amount", "4000");
      expect([status, stdout]).toEqual([
        0,
        expect.stringMatching(/to 0x\w{40}\n  gas: at most \d+ wei .*\nrefunded 4000 by 0x\w{64}\n$/s),
      ]);
      expect(await refund(payment)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^already refunded: 4000 /),
      });
      expect(await refund(payment, "--amount", "5000")).toMatchObject({ status: 1, stdout: "" });
    });
    expect(gain).toBe(4_000n);
    const row = (await exportRows()).find((one) => one["payment"] === payment);
    expect(row).toMatchObject({ refund_state: "refunded", refund_amount: "4000", refund_chain: "agrees" });
    const other = { ...env, GATEHOUSE_REFUND_SIGNER_PRIVATE_KEY: payer.privateKey };
    const wrong = await runInProcess(["ledger", "refund", payments[1] ?? "", "--yes"], other);
    expect([wrong.status, wrong.stderr]).toEqual([
      1,
      expect.stringMatching(/^refund: the key belongs to 0x\w+, but 0x\w+ was paid/),
    ]);
    const unconfirmed = await runInProcess(["ledger", "refund", payments[1] ?? "", "--key-file", keyFile], env);
    expect([unconfirmed.status, unconfirmed.stderr]).toEqual([1, "refund: not confirmed; nothing was sent.\n"]);
    const unknownRefund = await refund("eip155:1672|0x01|0x02|0x03");
    expect([unknownRefund.status, unknownRefund.stderr]).toEqual([1, expect.stringMatching(/has no settled payment/)]);
    expect(wrong.stderr + unconfirmed.stdout).not.toContain(payee.privateKey.slice(2));
  });

  const kills: readonly (readonly [number, string, KillPoint])[] = [
    [1, "before its recorded transaction is sent", (body, _, response) => isSending(body) && response === undefined],
    [2, "after its transaction is sent", (body, _, response) => isSending(body) && response !== undefined],
    [3, "after its transaction is mined", (_body, _, response = "") => response.includes('"effectiveGasPrice"')],
  ];
  it.each(takeSlice(kills, 3))("(%i) completes a refund once if the command was killed %s", async (index, _, point) => {
    const payment = payments[index] ?? "";
    const gain = await measureGain(async () => {
      const killed = await runKilled(refundArgs(payment), { env, rpcUrl: chain.url }, point);
      expect(killed.status).toBeNull();
      const again = await refund(payment);
      expect([again.status, again.stdout, again.stderr]).toEqual([
        0,
        expect.stringMatching(/^refunded 10000 by 0x/),
        "",
      ]);
    });
    expect(gain).toBe(amount);
  });

  it("rejects a refund whose gas the payee can't pay, before signing", async () => {
    const balance = await chain.anvil.request("eth_getBalance", [payee.address, "latest"]);
    await chain.anvil.request("anvil_setBalance", [payee.address, "0x1"]);
    const { status, stderr } = await refund(payments[4] ?? "");
    await chain.anvil.request("anvil_setBalance", [payee.address, balance]);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^refund: 0x\w{40} has 1 wei for gas; fund it with \d+ more, and rerun the command\.\n$/),
    ]);
    expect((await exportRows()).find(({ payment }) => payment === payments[4])?.["refund_state"]).toBe("");
  });

  it("never sends one transaction for two payments: equal refunds of one payee have different nonces", async () => {
    const [killed = "", next = "", ...both] = payments.slice(4);
    const gain = await measureGain(async () => {
      await runKilled(refundArgs(killed), { env, rpcUrl: chain.url }, (body) => isSending(body));
      const blockedRefund = await refund(next);
      expect([blockedRefund.status, blockedRefund.stderr]).toEqual([
        1,
        expect.stringMatching(
          /^refund: the refund of 0x[0-9a-f]{64} has the next nonce of 0x\w{40}, \d+, and is not on the chain yet; complete it first: gatehouse ledger refund 0x[0-9a-f]{64}\n$/,
        ),
      ]);
      const [, first = ""] = /refund of (0x[0-9a-f]{64})/.exec(blockedRefund.stderr) ?? [];
      const hashes: (string | undefined)[] = [];
      for (const run of [
        await refund(first),
        await refund(next),
        ...(await Promise.all(both.map((one) => runGatehouse(refundArgs(one), env)))),
      ])
        hashes.push(/^refunded 10000 by (0x\w+)$/m.exec(run.stdout)?.[1]);
      expect(new Set(hashes).size).toBe(4);
      expect(hashes).not.toContain(undefined);
    });
    expect(gain).toBe(4n * amount);
  });
});

it.skipIf(explainMissingPostgres() !== undefined)(
  "refunds over PostgreSQL while the facilitator runs: two runs refund one payment once, and four payments have four transactions",
  async () => {
    await using server = await startPostgres();
    const url = await server.createDatabase();
    const sql = { GATEHOUSE_FACILITATOR_LEDGER_PATH: "", GATEHOUSE_FACILITATOR_LEDGER_URL: url };
    const place = { rpcUrl: chain.url, token: chain.token, ledgerPath: "", env: sql };
    await using facilitator = await startFacilitatorInProcess(place);
    for (let count = 0; count < 4; count += 1)
      expect((await facilitator.settle(await signPayment(chain.token))).body).toMatchObject({ success: true });
    const shared = buildFacilitatorEnvironment(place);
    const { stdout } = await runGatehouse(["ledger", "export"], shared);
    const settled = [...stdout.matchAll(/eip155:1672\|[^,]+/g)].map(([name]) => name);
    // If two runs sign at the same time, one records its refund, and the other prints how to track it.
    const run = async (name: string) => {
      const result = await runGatehouse(refundArgs(name), shared);
      return result.stderr.includes("rerun the same command to track that one")
        ? runGatehouse(refundArgs(name), shared)
        : result;
    };
    const gain = await measureGain(async () => {
      const runs = [settled[0] ?? "", ...settled].map(run);
      const printed = (await Promise.all(runs)).map(
        ({ stdout: text }) => /refunded:? 10000 by (0x\w{64})\n$/.exec(text)?.[1],
      );
      expect(printed).not.toContain(undefined);
      expect(printed[0]).toBe(printed[1]);
      expect(new Set(printed).size).toBe(4);
    });
    expect(gain).toBe(4n * amount);
  },
);
