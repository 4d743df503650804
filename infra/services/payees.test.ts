import { expect, test } from "vitest";
import { payeesOf } from "./payees.ts";

const [stack, first, second] = ["0xAA", "0xBB", "0xCC"];
const upstream = "http://upstream/data";

test("a stack's facilitator serves the account of the stack and those that its routes name, each once", () => {
  const routes = {
    "GET /a": { accepts: { price: "0.01", payTo: first }, upstream },
    "GET /b": { accepts: [{ price: "0.01" }, { price: "0.02", payTo: second }, { payTo: "0xbb" }], upstream },
  };
  expect(payeesOf(stack, routes).map((account) => account.toUpperCase())).toEqual(["0XAA", "0XBB", "0XCC"]);
});

test("routes without the right form, and a stack without an account, name nobody", () => {
  expect(payeesOf(undefined, { "GET /a": "wrong", "GET /b": { upstream }, "GET /c": { accepts: {} } })).toEqual([]);
});
