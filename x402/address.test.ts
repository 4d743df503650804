import { expect, test } from "vitest";
import { address } from "./address.ts";

const account = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

test("accepts an address with its checksum, and one without a checksum", () => {
  for (const value of [account, account.toLowerCase(), `0x${account.slice(2).toUpperCase()}`]) {
    expect(address.parse(value)).toBe(value);
  }
});

test.each([
  ["a digit mistyped", `${account.slice(0, -1)}D`],
  ["a letter in the wrong case", account.replace("C", "c")],
])("rejects an address with %s", (_name, value) => {
  expect(() => address.parse(value)).toThrow(/checksum is wrong/);
});

test("rejects an address that is too short", () => {
  expect(() => address.parse("0x3C44")).toThrow(/expected an address: 0x and 40 hexadecimal digits/);
});
