import { isUtf8 } from "node:buffer";

/**
 * Expected response to a message according to JSON.parse and JSON-RPC 2.0: an error about the whole message, no response, one response, or
 * an array of this many.
 */
export type ExpectedResponse = Readonly<{ kind: "refused" | "nothing" | "one" } | { kind: "array"; entries: number }>;

/** Number of brackets from which a text may nest too deep to be parsed; only parsing it shows. */
const deepBrackets = 200;

/** Computes the expected response to a message; undefined if it may nest too deep. */
export function computeExpectedResponse(body: Buffer, batchItems: number): ExpectedResponse | undefined {
  const brackets = body.filter((byte) => byte === 0x5b || byte === 0x7b).length;
  if (brackets >= deepBrackets) return undefined;
  const message = isUtf8(body) ? parseJson(body.toString("utf8")) : undefined;
  if (message === undefined) return { kind: "refused" };
  if (!Array.isArray(message.value)) return { kind: isNotification(message.value) ? "nothing" : "one" };
  if (message.value.length === 0 || message.value.length > batchItems) return { kind: "refused" };
  const entries = message.value.filter((one) => !isNotification(one)).length;
  return entries === 0 ? { kind: "nothing" } : { kind: "array", entries };
}

function parseJson(text: string): Readonly<{ value: unknown }> | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

function isNotification(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value) || Object.hasOwn(value, "id")) return false;
  const own = new Map<string, unknown>(Object.entries(value));
  return own.get("jsonrpc") === "2.0" && typeof own.get("method") === "string" && own.get("method") !== "";
}

/** Describes what is wrong with a response; returns undefined if nothing is. Empty text means no response. */
export function explainWrongResponse(answer: string, expected: ExpectedResponse | undefined): string | undefined {
  if (answer === "") return expected === undefined || expected.kind === "nothing" ? undefined : "no answer";
  const given = parseJson(answer);
  if (given === undefined) return "no JSON";
  const entries: readonly unknown[] = Array.isArray(given.value) ? given.value : [given.value];
  if (!entries.every(isAnswer)) return "no JSON-RPC";
  if (expected === undefined) return undefined;
  if (expected.kind === "nothing") return "an answer to nothing";
  const wanted = expected.kind === "array" ? expected.entries : 1;
  if (Array.isArray(given.value) !== (expected.kind === "array") || entries.length !== wanted) return "not as many";
  const isRefusal = /"code":-32(?:700|600)/.test(answer);
  return expected.kind === "refused" && !isRefusal ? "not refused" : undefined;
}

function isAnswer(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const own = new Map<string, unknown>(Object.entries(value));
  if (own.get("jsonrpc") !== "2.0" || !own.has("id") || own.has("result") === own.has("error")) return false;
  if (own.has("result")) return true;
  const error = new Map<string, unknown>(Object.entries(own.get("error") as object));
  return Number.isInteger(error.get("code")) && typeof error.get("message") === "string";
}
