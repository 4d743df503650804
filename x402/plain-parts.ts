import type { PaymentRequirements } from "@x402/core/types";

/**
 * Reads the parts of a payment in their usual form, at a tenth of the cost of `@x402/core`'s schemas. Undefined for anything else, on which
 * the schemas decide.
 */
export function readPlainPayment(
  sent: unknown,
): Readonly<{ accepted: PaymentRequirements; payload: Record<string, unknown> }> | undefined {
  if (!isPlain(sent) || sent["x402Version"] !== 2) return undefined;
  const { resource, payload, extensions } = sent;
  const accepted = readPlainRequirements(sent["accepted"]);
  const isUsual = isPlain(payload) && isPlainOrAbsent(extensions) && (resource === undefined || isResource(resource));
  return isUsual && accepted !== undefined ? { accepted, payload } : undefined;
}

/** Reads requirements in their usual form; see {@link readPlainPayment}. */
export function readPlainRequirements(sent: unknown): PaymentRequirements | undefined {
  if (!isPlain(sent)) return undefined;
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = sent;
  const isUsual =
    isText(scheme) &&
    isText(network) &&
    network.length >= 3 &&
    network.includes(":") &&
    isText(amount) &&
    isText(asset) &&
    isText(payTo) &&
    typeof maxTimeoutSeconds === "number" &&
    maxTimeoutSeconds > 0 &&
    isPlain(extra);
  if (!isUsual) return undefined;
  const caip2 = network as PaymentRequirements["network"];
  return { scheme, network: caip2, amount, asset, payTo, maxTimeoutSeconds, extra };
}

function isResource(sent: unknown): boolean {
  if (!isPlain(sent)) return false;
  const { url, description, mimeType, serviceName, tags, iconUrl } = sent;
  const rest = [serviceName, tags, iconUrl];
  return isText(url) && [description, mimeType].every(isTextOrAbsent) && rest.every((field) => field === undefined);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isPlainOrAbsent(value: unknown): boolean {
  return value === undefined || isPlain(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}
