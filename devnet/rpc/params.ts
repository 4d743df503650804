import "#daemon/settings/describe-issue.ts";
import type { Hex } from "viem";
import { z } from "zod";
import { errorCode, RpcError } from "./rpc-error.ts";

/** Builds the schema of a hexadecimal string that starts with `0x` and matches a pattern. */
function buildHexSchema(pattern: RegExp, expected: string) {
  return z.custom<Hex>((value) => typeof value === "string" && pattern.test(value), `expected ${expected}`);
}

/** 20 bytes. */
export const address = buildHexSchema(/^0x[0-9a-fA-F]{40}$/, "an address (0x and 40 hexadecimal digits)");
/** 32 bytes. */
export const hash = buildHexSchema(/^0x[0-9a-fA-F]{64}$/, "a hash (0x and 64 hexadecimal digits)");
/** Bytes of any length. */
export const bytes = buildHexSchema(/^0x([0-9a-fA-F]{2})*$/, "bytes (0x and an even number of hexadecimal digits)");
/** A number, as in the execution API: no leading zeros. */
export const quantity = buildHexSchema(
  /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/,
  "a quantity (0x and hexadecimal digits without leading zeros)",
);
/** A 64-bit number: a block number, or a transaction's index in its block. */
export const quantity64 = buildHexSchema(
  /^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$/,
  "a quantity (0x and at most 16 hexadecimal digits without leading zeros)",
);
/** A storage slot: a word, with or without leading zeros. */
export const slot = buildHexSchema(/^0x[0-9a-fA-F]{1,64}$/, "a storage position (0x and 1 to 64 hexadecimal digits)");

const tag = z.enum(["latest", "earliest", "pending", "safe", "finalized"]);
const blockExpected = "a block number (0x without leading zeros), latest, earliest, pending, safe or finalized";

/** Block number or tag (specification, "JSON-RPC request envelope"). */
export const blockNumberOrTag = z.union([quantity64, tag], { error: `expected ${blockExpected}` });
/** Block number, tag or hash, as one string. */
export const blockId = z.union([hash, quantity64, tag], { error: `expected a block hash, ${blockExpected}` });
const blockObjects = [
  z.strictObject({ blockNumber: quantity64 }),
  z.strictObject({ blockHash: hash, requireCanonical: z.boolean().optional() }),
] as const;
/** Block of the requested state: by number, tag or hash, as a string or as an EIP-1898 object. */
export const stateBlock = z.union([hash, quantity64, tag, ...blockObjects], {
  error: `expected a block hash, ${blockExpected}, or an object with blockNumber or blockHash`,
});
/** Like {@link stateBlock}, parsed to a string. */
export const blockIdOrObject = stateBlock.transform((block): string => {
  if (typeof block === "string") return block;
  return "blockHash" in block ? block.blockHash : block.blockNumber;
});

/** Fields of a call; the chain validates all others. */
export const callObject = z.looseObject({
  from: address.nullish(),
  to: address.nullish(),
  gas: quantity.nullish(),
  gasPrice: quantity.nullish(),
  maxFeePerGas: quantity.nullish(),
  maxPriorityFeePerGas: quantity.nullish(),
  value: quantity.nullish(),
  data: bytes.nullish(),
  input: bytes.nullish(),
});

type Values<Schemas extends readonly z.ZodType[]> = { [Index in keyof Schemas]: z.output<Schemas[Index]> };

/**
 * Reads positional parameters. `null` counts as absent for an optional parameter.
 *
 * @throws {RpcError} -32602 with the index of the missing, invalid or surplus parameter, counted from 0 as in geth.
 */
export function readParams<const Schemas extends readonly z.ZodType[]>(
  schemas: Schemas,
  params: readonly unknown[],
): Values<Schemas> {
  if (params.length > schemas.length) throw invalidParams(`too many arguments, want at most ${schemas.length}`);
  const values = schemas.map((schema, index) => {
    const given = params[index] ?? undefined;
    const parsed = schema.safeParse(given);
    if (parsed.success) return parsed.data;
    if (given === undefined) throw invalidParams(`missing value for required argument ${index}`);
    throw invalidParams(`invalid argument ${index}: ${describe(parsed.error)}`);
  });
  return values as Values<Schemas>;
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  const place = issue === undefined || issue.path.length === 0 ? "" : `${issue.path.join(".")}: `;
  return `${place}${issue?.message ?? error.message}`;
}

function invalidParams(message: string): RpcError {
  return new RpcError(errorCode.invalidParams, message);
}
