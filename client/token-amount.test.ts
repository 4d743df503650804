import { assert, bigInt, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDollars, parseTokenAmount } from "./token-amount.ts";

describe("parseTokenAmount", () => {
  it.each([
    ["10000", 10_000n],
    ["$0.01", 10_000n],
    ["$1", 1_000_000n],
    ["$0.000001", 1n],
    ["0", 0n],
  ])("reads %s", (text, amount) => {
    expect(parseTokenAmount(text)).toBe(amount);
  });

  it.each(["", "0.01", "-1", "$-1", "$1.0000001", "1e6", "$", "USD 1"])("refuses %j and shows both forms", (text) => {
    expect(() => parseTokenAmount(text)).toThrow(/is no amount; expected dollars .* \("\$0\.01"\) or .* \("10000"\)/);
  });

  it("reads what formatDollars writes", () => {
    assert(
      property(bigInt({ min: 0n, max: 10n ** 30n }), (amount) => {
        expect(parseTokenAmount(formatDollars(amount))).toBe(amount);
      }),
    );
  });
});
