import type { ConfigChange } from "./monitor-change.ts";
import { formatValue } from "./secret-shapes.ts";

export function describeChange(change: ConfigChange): string {
  return `${formatChange(change)} (${change.reason})`;
}

export function formatChange(change: ConfigChange): string {
  switch (change.kind) {
    case "create":
      return `chain.monitor_config made with ${Object.keys(change.value).join(", ")}`;
    case "insert":
      return `${change.key} added as ${JSON.stringify(change.value)}`;
    case "set":
      return `${change.key} set to ${JSON.stringify(change.value)}, was ${formatValue(change.from)}`;
    case "rename":
      return `${change.key} renamed to ${change.to}`;
    case "remove":
      return `${change.key} removed`;
  }
}
