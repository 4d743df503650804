import { expect, test } from "vitest";
import { createMoneyConversion, exact } from "./exact.ts";

const token = {
  network: "eip155:1672",
  address: "0x00000000000000000000000000000000000000aa",
  name: "USDC",
  version: "2",
} as const;
const expected = { amount: "10000", asset: token.address, extra: { token: "USDC", name: "USDC", version: "2" } };

test("converts dollars to amount, asset and extra on its network, and returns null on others", () => {
  expect(createMoneyConversion(token)("0.01", "eip155:1672")).toEqual(expected);
  const { extra } = createMoneyConversion({ ...token, version: "1" })("0.01", "eip155:1672") ?? {};
  expect(extra).toEqual({ ...expected.extra, version: "1" });
  expect(createMoneyConversion(token)("0.01", "eip155:8453")).toBeNull();
});

test("prices with the conversion, not with the SDK's default token", async () => {
  expect(await exact.quote("$0.01", token)).toEqual(expected);
});
