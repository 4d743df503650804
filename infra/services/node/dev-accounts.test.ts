import { bytesToHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { expect, it } from "vitest";
import { devAccounts, devnetMnemonic } from "./dev-accounts.ts";

it("devAccounts matches the accounts that the devnet funds", () => {
  const signer = mnemonicToAccount(devnetMnemonic, { addressIndex: 0 });
  const { privateKey } = signer.getHdKey();
  expect(devAccounts.signer).toEqual({
    address: signer.address,
    privateKey: privateKey === null ? "none" : bytesToHex(privateKey),
  });
  expect(devAccounts.payee.address).toBe(mnemonicToAccount(devnetMnemonic, { addressIndex: 2 }).address);
});
