import type { Labels } from "./metric-family.ts";

/** A path that names no group; the message is the Pushgateway's answer. */
export class GroupingKeyError extends Error {
  override readonly name = "GroupingKeyError";
  readonly code = "grouping_key_invalid";
}

/**
 * Reads a grouping key from what follows `/metrics/` in a URL's path: `job/<job>{/<label>/<value>}`. A name that ends with
 * `@base64` has its value in base64url, for values with a slash and, as `=`, for empty ones. A label that is named twice has its
 * last value; `job` has the first (Pushgateway's README, "API").
 *
 * @throws {GroupingKeyError} when a label has no value, no proper name, or a value that can't be decoded.
 */
export function parseGroupingKey(path: string): Labels {
  const parts = parsePath(path).split("/");
  if (parts.length % 2 === 1) {
    throw new GroupingKeyError(
      `odd number of components in label string ${JSON.stringify(`/${parts.slice(2).join("/")}`)}`,
    );
  }
  const labels = new Map<string, string>();
  for (let index = 0; index < parts.length; index += 2) {
    const [name, value] = parseLabel(parts[index] ?? "", parts[index + 1] ?? "");
    if (name === "job" && index > 0) continue;
    labels.set(name, value);
  }
  if (labels.get("job") === "") throw new GroupingKeyError("job name is required");
  return labels;
}

function parseLabel(rawName: string, rawValue: string): readonly [string, string] {
  const encoded = rawName.endsWith("@base64");
  const name = encoded ? rawName.slice(0, -"@base64".length) : rawName;
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) || name.startsWith("__")) {
    throw new GroupingKeyError(`improper label name ${JSON.stringify(name)}`);
  }
  if (!encoded) return [name, rawValue];
  const digits = rawValue.replace(/=+$/, "");
  if (!/^[A-Za-z0-9_-]*$/.test(digits) || digits.length % 4 === 1) {
    throw new GroupingKeyError(`invalid base64 encoding in ${name} ${JSON.stringify(rawValue)}`);
  }
  return [name, Buffer.from(digits, "base64url").toString("utf8")];
}

function parsePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    throw new GroupingKeyError(`invalid percent encoding in ${JSON.stringify(path)}`, { cause });
  }
}
