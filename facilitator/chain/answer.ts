import { z } from "zod";
import type { Hex } from "#x402/hex.ts";
import { ChainError } from "./chain-error.ts";
import type { JsonRpcAnswer } from "#daemon/json-rpc.ts";

/** Bytes of any length as JSON-RPC has them. */
export const hexData = z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value));

/** A quantity of JSON-RPC (Ethereum JSON-RPC, "Hex value encoding"). */
export const hexQuantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform(BigInt);

/** A quantity that counts something: blocks, nonces, seconds. */
export const hexCount = hexQuantity.transform(Number).pipe(z.int());

/**
 * The result of a call that the node has no reason to refuse.
 *
 * @throws {ChainError} when it refused, or when the result has another shape than the method's.
 */
export function resultOf<Output>(method: string, answer: JsonRpcAnswer, schema: z.ZodType<Output>): Output {
  if (!answer.ok) {
    throw new ChainError("refused", `the node refused ${method}: ${answer.error.message} (code ${answer.error.code})`);
  }
  const parsed = schema.safeParse(answer.result);
  if (parsed.success) return parsed.data;
  throw new ChainError("bad_answer", `the node's answer to ${method} has not the method's shape`);
}
