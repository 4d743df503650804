import { expect, test } from "vitest";
import { AnvilRequestError, AnvilUnreachableError } from "../anvil/anvil-request.ts";
import { RpcError, toWireError } from "./rpc-error.ts";

function ofChain(code: number, message: string, data?: unknown) {
  return toWireError(new AnvilRequestError("method", { code, message, data }));
}

test("refused transactions have geth's code and text, by which clients know them", () => {
  expect(ofChain(-32003, "nonce too low")).toEqual({ code: -32000, message: "nonce too low" });
  expect(ofChain(-32003, "transaction already imported")).toEqual({ code: -32000, message: "already known" });
  expect(ofChain(-32003, "Insufficient funds for gas * price + value")).toEqual({
    code: -32000,
    message: "insufficient funds for gas * price + value",
  });
});

test("a block to come has no header", () => {
  const message = "BlockOutOfRangeError: block height is 300 but requested was 301";
  expect(ofChain(-32602, message)).toEqual({ code: -32000, message: "header not found" });
});

test("a revert passes with its data", () => {
  expect(ofChain(3, "execution reverted", "0x08")).toEqual({ code: 3, message: "execution reverted", data: "0x08" });
});

test("a chain that does not answer is this node's fault, a thrown TypeError is a defect", () => {
  expect(toWireError(new AnvilUnreachableError("refused"))).toEqual({
    code: -32603,
    message: "the chain is not responding",
  });
  expect(toWireError(new RpcError(-32602, "no"))).toEqual({ code: -32602, message: "no" });
  expect(toWireError(new TypeError("x"))).toBeUndefined();
});
