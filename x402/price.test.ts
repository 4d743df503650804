import { assert, bigInt, integer, pre, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { convertPriceToAmount } from "./price.ts";

describe("convertPriceToAmount", () => {
  it.each([
    ["0.01", "10000"],
    ["$0.01", "10000"],
    ["1", "1000000"],
    ["0.000001", "1"],
    ["0.0000005", "1"],
    ["1.0000004999", "1000000"],
    ["1.0000005", "1000001"],
    ["0.999999500", "1000000"],
    ["123456789012.345678", "123456789012345678"],
    ["00.10", "100000"],
  ])("converts %s to %s units", (price, amount) => {
    expect(convertPriceToAmount(price)).toBe(amount);
  });

  it.each(["", "-1", "1e3", "0x1", "1.", ".5", "1,5", "NaN", "0.01 EUR", " 1", "1".repeat(31)])(
    "rejects %j with the expected format",
    (price) => {
      expect(() => convertPriceToAmount(price)).toThrow(
        /is not a price; expected dollars as a decimal number, e\.g\. "0\.01"/,
      );
    },
  );

  it.each(["0", "0.0", "0.00000049"])("rejects %s, which rounds to 0", (price) => {
    expect(() => convertPriceToAmount(price)).toThrow(/rounds to 0 .* the minimum price is 0\.000001/);
  });

  it("equals round(price × 10^6) in integers for every price", () => {
    const numerators = bigInt({ min: 1n, max: 10n ** 20n });
    assert(
      property(numerators, integer({ min: 0, max: 9 }), (numerator, decimals) => {
        const scale = 10n ** BigInt(decimals);
        const text = numerator.toString().padStart(decimals + 1, "0");
        const price = decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
        const expected = (2n * numerator * 1_000_000n + scale) / (2n * scale);
        pre(expected > 0n);
        expect(convertPriceToAmount(price)).toBe(expected.toString());
      }),
    );
  });
});
