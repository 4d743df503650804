import { mnemonicToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { deriveFundedAccounts } from "./funded-accounts.ts";

const mnemonic = "test test test test test test test test test test test junk";

test("derives the same accounts from the mnemonic as viem", () => {
  const expected = [0, 1, 2].map((addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }).address);
  expect(deriveFundedAccounts({ mnemonic, accounts: 3, fund: [] })).toEqual(expected);
});

test("funds an address only once if it is listed twice", () => {
  const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
  const lower = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
  expect(deriveFundedAccounts({ mnemonic, accounts: 1, fund: [lower] })).toHaveLength(1);
  expect(deriveFundedAccounts({ mnemonic: undefined, accounts: 5, fund: [address] })).toEqual([address]);
});
