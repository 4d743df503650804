import { mnemonicToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { deriveFundedAccounts } from "./funded-accounts.ts";

const mnemonic = "test test test test test test test test test test test junk";

test("the accounts are those that every wallet derives from the mnemonic", () => {
  const expected = [0, 1, 2].map((addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }).address);
  expect(deriveFundedAccounts({ mnemonic, accounts: 3, fund: [] })).toEqual(expected);
});

test("an address that is named twice is funded once", () => {
  const address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
  const lower = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
  expect(deriveFundedAccounts({ mnemonic, accounts: 1, fund: [lower] })).toHaveLength(1);
  expect(deriveFundedAccounts({ mnemonic: undefined, accounts: 5, fund: [address] })).toEqual([address]);
});
