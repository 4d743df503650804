import { describe, expect, it } from "vitest";
import { createExactScheme, createMoneyConversion } from "./money-conversion.ts";

const token = {
  network: "eip155:1672",
  address: "0x00000000000000000000000000000000000000aa",
  name: "USDC",
  version: "2",
} as const;
const expected = {
  amount: "10000",
  asset: token.address,
  extra: { token: "USDC", name: "USDC", version: "2" },
};

describe("moneyConversion", () => {
  it("gives amount, asset and extra on its network", () => {
    expect(createMoneyConversion(token)("0.01", "eip155:1672")).toEqual(expected);
  });

  it("names the version of the token's EIP-712 domain that the settings name", () => {
    const { extra } = createMoneyConversion({ ...token, version: "1" })("0.01", "eip155:1672") ?? {};
    expect(extra).toEqual({ ...expected.extra, version: "1" });
  });

  it("gives null on networks that it does not handle", () => {
    expect(createMoneyConversion(token)("0.01", "eip155:8453")).toBeNull();
  });
});

describe("exactScheme", () => {
  it("prices with the conversion, not with the SDK's default token", async () => {
    expect(await createExactScheme(token).parsePrice("$0.01", "eip155:1672")).toEqual(expected);
  });
});
