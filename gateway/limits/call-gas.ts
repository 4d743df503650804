import { invalidParams } from "../errors.ts";
import { splitElements } from "../json-rpc/read-object.ts";
import { asBinary } from "../json-rpc/read-answer.ts";
import { maxFields, parseShortValue, readFields, refuse, type CheckedParams } from "./checked-params.ts";

/** Keys by which nodes read the gas of a call. Those in Go mind no case, and take ſ (U+017F) for s. */
const gasNames: ReadonlySet<string> = new Set(["GAS", "GASLIMIT"]);

/** Such a key in JSON text, as a binary string; or an escape, which may write one. */
const gasKey = /"ga(?:s|\xc5\xbf)(?:limit)?"|\\/i;

/** Whether parameters, JSON text, may name an amount of gas: few calls do. */
export function mayNameGas(params: string): boolean {
  return gasKey.test(params);
}

/**
 * Caps the gas of a call object, the first parameter, as geth does (`--rpc.gascap`): without a word, since a client that asks for more wants as much as
 * there is. What names no gas has the node's own cap, unless it `isFilledIn`.
 */
export function limitGas(params: string, cap: number, isFilledIn = false): CheckedParams {
  const [call = "", ...rest] = splitElements(params);
  if ((!isFilledIn && !mayNameGas(call)) || !call.startsWith("{")) return { kind: "pass", params };
  const fields = readFields(call);
  if (fields === undefined) return refuse(invalidParams(`expected a call object of at most ${maxFields} fields`));
  let gas = 0;
  const mostGas = `"0x${cap.toString(16)}"`;
  const named = [...fields].filter(([name, value]) => !isFilledIn || value !== "null" || !isGasName(name));
  const capped = named.map(([name, value]) => {
    const asked = isGasName(name) ? readAmount(value) : 0;
    gas = Math.max(gas, Math.min(asked, cap));
    return `${asBinary(JSON.stringify(name))}:${asked > cap ? mostGas : value}`;
  });
  if (isFilledIn && !named.some(([name]) => isGasName(name))) {
    gas = cap;
    capped.push(`"gas":${mostGas}`);
  }
  return { kind: "pass", params: `[${[`{${capped.join(",")}}`, ...rest].join(",")}]`, gas };
}

function isGasName(name: string): boolean {
  return gasNames.has(name.toUpperCase());
}

/** Longest JSON text of an amount of gas. */
const amountLength = 80;

/** Reads an amount of gas, JSON text of a hexadecimal or decimal text or of a number. Any other is 0, for the node to refuse. */
function readAmount(json: string): number {
  if (json.length > amountLength) return Number.POSITIVE_INFINITY;
  const gas = parseShortValue(json);
  const amount = typeof gas === "string" || typeof gas === "number" ? Number(gas) : 0;
  return amount > 0 ? amount : 0;
}
