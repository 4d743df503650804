import { tracingGasFactor } from "../catalogue/method.ts";
import { invalidParams } from "../errors.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import { maxFields, parseShortValue, readFields, refuse, type CheckedParams } from "./checked-params.ts";

/** Keys that nodes parse as the gas of a call. Nodes written in Go ignore case and treat ſ (U+017F) as s. */
const gasNames: ReadonlySet<string> = new Set(["GAS", "GASLIMIT"]);

/** Matches such a key in JSON text, as a binary string, or an escape, which may encode such a key. */
const gasKey = /"ga(?:s|\xc5\xbf)(?:limit)?"|\\/i;

/** Whether parameters, as JSON text, may specify gas: few calls do. */
export function mayNameGas(params: string): boolean {
  return gasKey.test(params);
}

/**
 * Caps the gas of a call object, which is the first parameter. Like geth (`--rpc.gascap`), it does so silently, since a client that asks
 * for more wants the max available. A call object without gas gets the node's own cap, and counts as 0 gas.
 */
export function limitGas(params: string, cap: number): CheckedParams {
  const [call = "", ...rest] = splitElements(params);
  if (!call.startsWith("{")) return { kind: "pass", params };
  if (!mayNameGas(call)) return { kind: "pass", params, gas: 0 };
  const fields = readFields(call);
  if (fields === undefined) return refuse(invalidParams(`expected a call object of at most ${maxFields} fields`));
  let gas = 0;
  const capped = [...fields].map(([name, value]) => {
    const asked = gasNames.has(name.toUpperCase()) ? readAmount(value) : 0;
    gas = Math.max(gas, Math.min(asked, cap));
    return `${asBinary(JSON.stringify(name))}:${asked > cap ? `"0x${cap.toString(16)}"` : value}`;
  });
  return { kind: "pass", params: `[${[`{${capped.join(",")}}`, ...rest].join(",")}]`, gas };
}

/** Caps the gas of a call that the node may run many times, and counts it as often: as the cap if the call object specifies none. */
export function limitRepeatedGas(params: string, cap: number): CheckedParams {
  const capped = limitGas(params, cap);
  if (capped.kind !== "pass" || capped.gas === undefined) return capped;
  return { ...capped, gas: tracingGasFactor * (capped.gas || cap) };
}

/** Max length of a gas amount as JSON text. */
const amountLength = 80;

/** Parses a gas amount: the JSON text of a hexadecimal or decimal string, or of a number. Anything else becomes 0 and is left for the node to reject. */
function readAmount(json: string): number {
  if (json.length > amountLength) return Number.POSITIVE_INFINITY;
  const gas = parseShortValue(json);
  const amount = typeof gas === "string" || typeof gas === "number" ? Number(gas) : 0;
  return amount > 0 ? amount : 0;
}
