import { expect, test } from "vitest";
import { limitGas, mayNameGas } from "./call-gas.ts";

const cap = 50_000_000;
const capped = '"0x2faf080"';
const to = `"to":"0x${"ab".repeat(20)}"`;
const gasOf = (call: string) => {
  const checked = limitGas(`[${call},"latest"]`, cap);
  return checked.kind === "pass" ? checked.params : checked.kind;
};

test.each([
  `{${to},"gas":"0xffffffff"}`,
  `{${to},"gas":"0x2faf081"}`,
  `{${to},"gas":4294967295}`,
  `{${to},"gas":"4294967295"}`,
  `{${to},"gas":"0x${"0".repeat(100)}ffffffff"}`,
  `{${to},"gas":"0x1","gas":"0xffffffff"}`,
])("gas above the cap is the cap, and all else stays: %s", (call) => {
  expect(gasOf(call)).toBe(`[{${to},"gas":${capped}},"latest"]`);
});

test.each(["Gas", "GAS", "gaſ", "g\\u0061s", "gasLimit", "gaslimit"])(
  "so is that of a key that some node reads: %s",
  (name) => {
    const call = Buffer.from(`{${to},"${name}":"0xffffffff"}`).toString("latin1");
    const key = Buffer.from(name.replace("\\u0061", "a")).toString("latin1");
    expect(mayNameGas(call)).toBe(true);
    expect(gasOf(call)).toBe(`[{${to},"${key}":${capped}},"latest"]`);
  },
);

test.each([
  `{${to}}`,
  `{${to},"gasPrice":"0xffffffffff"}`,
  `{${to},"gas":"0x2faf080"}`,
  `{${to},"gas":null}`,
  `{${to},"gas":"all"}`,
  '"0xffffffff"',
  "null",
])("what is not above it goes on as it is: %s", (call) => {
  expect(gasOf(call)).toBe(`[${call},"latest"]`);
});

test("a call with too many fields to be read is refused if one may name gas", () => {
  const many = Array.from({ length: 64 }, (_, at) => `"k${at}":0`).join(",");
  expect(gasOf(`{${many},"gas":"0xffffffff"}`)).toBe("refuse");
});
