import { useFacilitatorScene } from "../support/facilitator/facilitator-scene.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createPublicClient, http, type Hex } from "viem";
import { expect, test } from "vitest";
import { generousMs, until } from "#daemon/testing/until.ts";
import { startKmsDouble } from "#facilitator/testing/kms-double.ts";
import { accelerateService } from "../support/accelerated-waits.ts";
import { testAccount } from "../support/payments/payment-chain.ts";
import type { FacilitatorClient } from "../support/facilitator/running-facilitator.ts";
import { isLong } from "../support/run-size.ts";
import { amount, signPayment } from "../support/facilitator/signed-payment.ts";

const scene = useFacilitatorScene({ blockTimeSeconds: 3_600 });
const { mineUntil } = scene;
const signers = [testAccount(0), testAccount(6), testAccount(7)] as const;
const payee = testAccount(2).address;

const listKeys = (keys: readonly (typeof signers)[number][] = signers) => ({
  GATEHOUSE_FACILITATOR_SIGNER_PRIVATE_KEY: keys.map(({ privateKey }) => privateKey).join("\n"),
});

const signMany = (length: number) => Promise.all(Array.from({ length }, () => signPayment(scene.chain.token)));
const areGood = (responses: readonly Readonly<{ body: Readonly<{ success: boolean }> }>[]) =>
  responses.every(({ body }) => body.success);

async function countTransactions() {
  const client = createPublicClient({ transport: http(scene.chain.url) });
  const count = (blockTag: "latest" | "pending") =>
    Promise.all(signers.map(({ address }) => client.getTransactionCount({ address, blockTag })));
  return { mined: await count("latest"), sent: await count("pending") };
}

async function readMetric(
  { operationsUrl }: FacilitatorClient,
  name: string,
): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text();
  const found = text.matchAll(
    new RegExp(`^gatehouse_facilitator_${name}\\{signer="(.*)",network="eip155:1672"\\} (.*)$`, "gm"),
  );
  return Object.fromEntries([...found].map(([, signer = "", value]) => [signer, Number(value)]));
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Fewer in `npm test`, because signing takes most of the time. */
const paymentCount = isLong ? 200 : 60;

test("spreads payments over three keys, and leaves no nonce gap after kill -9", async () => {
  const payments = await signMany(paymentCount);
  const [before, nonces] = [await scene.chain.balanceOf(payee), (await countTransactions()).mined];
  {
    const first = await scene.startProcess("spread", listKeys());
    const cut = Promise.allSettled(payments.map(first.as("a-sale").settle));
    await until("each key has sent a transaction", generousMs, async () =>
      (await countTransactions()).sent.every((count, index) => count > (nonces[index] ?? 0)),
    );
    await scene.chain.anvil.mine();
    await wait(20);
    await first.process.end("SIGKILL");
    await cut;
  }
  await using second = await scene.start("spread", listKeys());
  const supportedResponse = await fetch(`${second.url}/supported`);
  expect(await supportedResponse.json()).toMatchObject({
    signers: { "eip155:*": signers.map(({ address }) => address) },
  });
  const responses = await mineUntil(Promise.all(payments.map(second.as("a-sale").settle)));
  expect(areGood(responses)).toBe(true);
  expect((await scene.chain.balanceOf(payee)) - before).toBe(BigInt(paymentCount) * amount);
  const { mined, sent } = await countTransactions();
  expect(sent, "nothing is left in the pool").toEqual(mined);
  expect(await scene.chain.anvil.request("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
  // The first process may have finished all of a key's payments, in which case the second one does not read the key's nonce.
  const next = await readMetric(second, "signer_next_nonce");
  const known = signers.flatMap(({ address }, index) => (address in next ? [[address, mined[index]] as const] : []));
  expect(next).toEqual(Object.fromEntries(known));
  expect(Object.values(await readMetric(second, "signer_transactions_pending"))).toEqual([0, 0, 0]);
});

test("settles with the other keys while one has no gas, and reports that", async () => {
  await using facilitator = await scene.start("drained", listKeys());
  const [, , last] = signers;
  const held = await scene.chain.anvil.request<Hex>("eth_getBalance", [last.address, "latest"]);
  await scene.chain.anvil.request("anvil_setBalance", [last.address, "0x0"]);
  const transactionsBefore = await countTransactions();
  // The first payments detect it: the node rejects the account's transaction.
  expect(areGood(await mineUntil(Promise.all((await signMany(12)).map(facilitator.settle))))).toBe(true);
  const after = await countTransactions();
  expect(after.mined[2]).toBe(transactionsBefore.mined[2]);
  expect(after.mined[0]).toBeGreaterThan(transactionsBefore.mined[0] ?? 0);
  const ready = await fetch(`${facilitator.operationsUrl}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([200, expect.stringContaining(`${last.address}`)]);
  expect((await readMetric(facilitator, "signer_usable"))[last.address]).toBe(0);
  await scene.chain.anvil.request("anvil_setBalance", [last.address, held]);
});

test("tracks the transactions of a removed key until they are mined", async () => {
  const [first, , last] = signers;
  const payments = await signMany(3);
  const [before, { mined }] = [await scene.chain.balanceOf(payee), await countTransactions()];
  {
    await using all = await scene.startProcess("removed", listKeys());
    const cut = Promise.allSettled(payments.map(all.as("a-sale").settle));
    await until(
      "the key has sent a transaction",
      generousMs,
      async () => ((await countTransactions()).sent[2] ?? 0) > (mined[2] ?? 0),
    );
    await all.process.end("SIGKILL");
    await cut;
  }
  await using fewer = await scene.start("removed", listKeys([first]));
  expect(areGood(await mineUntil(Promise.all(payments.map(fewer.as("a-sale").settle))))).toBe(true);
  expect((await scene.chain.balanceOf(payee)) - before).toBe(3n * amount);
  expect(fewer.output()).toContain(`"signers":["`);
  expect(fewer.output()).toContain(last.address);
});

/** The SDK is an optional peer dependency. */
const hasKms = existsSync(join(import.meta.dirname, "../../node_modules/@aws-sdk/client-kms"));

test.skipIf(!hasKms)("skips an AWS KMS key that can't sign, without a nonce gap", async () => {
  const [, remote, local] = signers;
  await using kms = await startKmsDouble({ "alias/signer": remote.privateKey });
  const env = {
    GATEHOUSE_FACILITATOR_SIGNER_KMS_KEYS: "alias/signer",
    ...kms.env,
    // A request to KMS times out after ten steps of half a second.
    ...accelerateService({ waitsMs: [500], times: 10 }),
  };
  const sentCountBefore = (await countTransactions()).sent;
  const [first, second] = [await signPayment(scene.chain.token), await signPayment(scene.chain.token)];
  {
    await using facilitator = await scene.startProcess("kms", { ...listKeys([]), ...env });
    expect(areGood([await mineUntil(facilitator.settle(first))])).toBe(true);
    kms.setMode("hangs");
    const fault = "AWS KMS can't sign with alias/signer: no response within 5000 ms";
    expect(await facilitator.settle(second)).toEqual({ status: 500, body: { error: fault } });
    const ready = await fetch(`${facilitator.operationsUrl}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(fault)]);
    kms.setMode("signs");
    await until("the key signs again", generousMs, async () => (await fetch(ready.url)).status === 200);
    expect(areGood([await mineUntil(facilitator.settle(second))])).toBe(true);
    expect((await countTransactions()).sent).toEqual([
      sentCountBefore[0],
      (sentCountBefore[1] ?? 0) + 2,
      sentCountBefore[2],
    ]);
  }
  await using facilitator = await scene.startProcess("kms", { ...listKeys([local]), ...env });
  kms.setMode("rejects");
  expect(areGood(await mineUntil(Promise.all((await signMany(4)).map(facilitator.settle))))).toBe(true);
  const after = (await countTransactions()).sent;
  expect(after.slice(0, 2)).toEqual([sentCountBefore[0], (sentCountBefore[1] ?? 0) + 2]);
  expect(after[2]).toBeGreaterThan(sentCountBefore[2] ?? 0);
});
