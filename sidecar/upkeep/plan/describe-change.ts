import type { ConfigChange } from "./config-change.ts";

/** One change as a person reads it, with its reason. */
export function describeChange(change: ConfigChange): string {
  return `${whatChanges(change)} (${change.reason})`;
}

/** One change as a person reads it, without its reason. */
export function whatChanges(change: ConfigChange): string {
  switch (change.kind) {
    case "create":
      return `chain.monitor_config made with ${Object.keys(change.value).join(", ")}`;
    case "insert":
      return `${change.key} added as ${JSON.stringify(change.value)}`;
    case "set":
      return `${change.key} set to ${JSON.stringify(change.value)}, was ${shown(change.from)}`;
    case "rename":
      return `${change.key} renamed to ${change.to}`;
    case "remove":
      return `${change.key} removed`;
  }
}

/** Values that somebody else wrote may be long. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
