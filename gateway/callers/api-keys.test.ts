import { hash as hashBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readApiKeys, type ApiKeys } from "./api-keys.ts";

const sha256 = (key: string) => hashBytes("sha256", key);

describe("API keys", () => {
  it("are found by their hash alone, and by all of it", () => {
    const hash = sha256("good");
    // Agrees with the hash in all that it is looked up by; what tells it apart is compared in constant time.
    const twin = `${hash.slice(0, 32)}${"0".repeat(32)}`;
    const keys = readApiKeys({ keys: [{ name: "ops", sha256: hash, tier: "paid" }] }) as ApiKeys;
    const twins = readApiKeys({ keys: [{ name: "twin", sha256: twin, tier: "paid" }] }) as ApiKeys;
    expect(keys.holderOf("good")).toEqual({ name: "ops", tier: "paid" });
    expect(keys.holderOf(hash)).toBeUndefined();
    expect(keys.holderOf("goo")).toBeUndefined();
    expect(twins.holderOf("good")).toBeUndefined();
  });

  it("are never shown by what is wrong with their file", () => {
    const hash = sha256("good");
    const wrong = readApiKeys({
      keys: [
        { name: "ops", sha256: `${hash}0`, tier: "Paid!" },
        { name: "ops", key: "plain" },
      ],
    });
    expect(wrong).toContain("keys.0.sha256");
    expect(wrong).not.toContain(hash.slice(0, 8));
    expect(wrong).not.toContain("plain");
  });
});
