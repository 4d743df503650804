import { hash as hashBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readApiKeys, type ApiKeys } from "./api-key-file.ts";

const sha256 = (key: string) => hashBytes("sha256", key);

function takenKeys(entry: object): ApiKeys {
  const fileResult = readApiKeys({ keys: [entry] });
  if (!fileResult.ok) throw new Error(fileResult.problems.join(" "));
  return fileResult.value;
}

describe("API keys", () => {
  it("are matched by the full hash", () => {
    const hash = sha256("good");
    // Has the same lookup digits as the key's hash; the other digits differ, and are compared in constant time.
    const twin = `${hash.slice(0, 32)}${"0".repeat(32)}`;
    const keys = takenKeys({ name: "ops", sha256: hash, tier: "paid" });
    const twins = takenKeys({ name: "twin", sha256: twin, tier: "paid" });
    expect(keys.holderOf("good")).toEqual({ name: "ops", tier: "paid" });
    expect(keys.holderOf(hash)).toBeUndefined();
    expect(keys.holderOf("goo")).toBeUndefined();
    expect(twins.holderOf("good")).toBeUndefined();
  });

  it("never appear in errors about their file", () => {
    const hash = sha256("good");
    const fileResult = readApiKeys({
      keys: [
        { name: "ops", sha256: `${hash}0`, tier: "Paid!" },
        { name: "ops", key: "plain" },
      ],
    });
    const wrong = fileResult.ok ? "" : fileResult.problems.join(" ");
    expect(wrong).toContain("keys.0.sha256");
    expect(wrong).not.toContain(hash.slice(0, 8));
    expect(wrong).not.toContain("plain");
  });
});
