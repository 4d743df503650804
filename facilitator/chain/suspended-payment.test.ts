import { pino } from "pino";
import { expect, test } from "vitest";
import { channelsAddress, encodeSettle } from "#x402/batch-settlement/channel.ts";
import type { Hex } from "#x402/hex.ts";
import { multicall3Address } from "#x402/wallet-signature.ts";
import { createSuspensions } from "../payment/suspensions.ts";
import { refuseSuspended } from "./suspended-payment.ts";

const account = (byte: string): Hex => `0x${byte.repeat(20)}`;

test("after three failed payments of wallets, new ones with their code are refused, and neither others nor payers with a key are", async () => {
  const suspensions = createSuspensions({
    monotonicMs: () => 0,
    log: pino({ level: "silent" }),
    hasPaid: async ({ payer }) => payer === account("09"),
  });
  const fail = (code: Hex, bytes: readonly string[]) => {
    for (const byte of bytes) suspensions.add({ kind: "wallet", code }, { asset, payer: account(byte) });
  };
  const asset: Hex = `0x${"aa".repeat(20)}`;
  const payment = { asset, contract: asset, callData: "0x" as Hex, payer: account("01") };
  const asked: Hex[] = [];
  const refuse = (code: Hex, contract: Hex = asset) => {
    const chain = { code: async (payer: Hex) => (asked.push(payer), code) };
    return refuseSuspended({ ...payment, contract }, { suspensions, chain });
  };
  fail("0x60", ["02", "03"]);
  expect(await refuse("0x60")).toBeUndefined();
  expect(asked).toEqual([]);
  fail("0x60", ["04"]);
  expect((await refuse("0x60"))?.message).toMatch(/^3 wallets with the code of .* another 60 s/);
  expect(await refuse("0x61"), "another code").toBeUndefined();
  expect(await refuse("0x", multicall3Address), "a wallet to be created").toBeUndefined();
  fail("0x", ["05", "06", "07"]);
  expect((await refuse("0x", multicall3Address))?.reason).toBe("invalid_exact_evm_transaction_failed");
  expect(await refuse("0x"), "a key").toBeUndefined();
  const settle = { ...payment, contract: channelsAddress, callData: encodeSettle(payment.payer, asset) };
  const chain = { code: async (): Promise<Hex> => "0x60" };
  expect(await refuseSuspended(settle, { suspensions, chain }), "a seller's wallet pays nothing").toBeUndefined();
  const known = { ...payment, payer: account("09") };
  expect(await refuseSuspended(known, { suspensions, chain }), "a wallet that paid before").toBeUndefined();
});
