import { assert, bigInt, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAmount, parseTokenAmount, toUnits } from "./token-amount.ts";

const units = (text: string, decimals?: number) => toUnits(parseTokenAmount(text), decimals);

describe("an amount", () => {
  it.each([
    ["10000", 6, 10_000n],
    ["0.01", 6, 10_000n],
    ["$0.01", 6, 10_000n],
    ["$1", 6, 1_000_000n],
    ["1.0", 18, 10n ** 18n],
    ["0.000001", 6, 1n],
    ["5.00", 2, 500n],
    ["0", 6, 0n],
  ])("parses %s with %i decimals", (text, decimals, amount) => {
    expect(units(text, decimals)).toBe(amount);
  });

  it("parses smallest units without decimals", () => {
    expect(units("10000")).toBe(10_000n);
  });

  it("rejects whole tokens with unknown decimals or too many digits", () => {
    expect(() => units("0.01")).toThrow("0.01 is in whole tokens, but the token's decimals are unknown.");
    expect(() => units("0.0000001", 6)).toThrow(
      "0.0000001 has 7 digits after the point, but the token has 6 decimals.",
    );
  });

  it.each(["-1", "$-1", "1e6", "$", "USD 1", "1.", "1,5", "0x10"])("rejects %j with both valid forms", (text) => {
    expect(() => parseTokenAmount(text)).toThrow(
      `"${text}" is not an amount; write it in whole tokens with a point (0.05), or in the token's smallest units (50000).`,
    );
  });

  it.each(["bash.05", "-bash.05", "/bin/bash.05", "zsh.05", "sh.1", "/usr/bin/zsh", "bash", ".05", ""])(
    "reports %j as shell expansion",
    (text) => {
      expect(() => parseTokenAmount(text)).toThrow(
        `"${text}" is not an amount; a shell replaces $ and the digit after it. Write the amount without $ (0.05), or in single quotes ('$0.05').`,
      );
    },
  );

  it("formats units if the decimals are unknown", () => {
    expect([formatAmount(10_000n, 6), formatAmount(10_000n, undefined)]).toEqual(["0.01", "10000 smallest units"]);
  });

  it("parses every formatted amount back", () => {
    assert(
      property(bigInt({ min: 0n, max: 10n ** 30n }), integer({ min: 1, max: 36 }), (amount, decimals) => {
        expect(units(`$${formatAmount(amount, decimals)}`, decimals)).toBe(amount);
      }),
    );
  });
});
