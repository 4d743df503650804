import type { MonitorField } from "../versions.ts";
import type { JsonObject } from "./document.ts";
import { formatValue } from "./secret-shapes.ts";
import { listOtherNames, type Naming } from "./monitor-config.ts";

export type MonitorValue = string | number | boolean;

type WantedValue = Readonly<{ value: MonitorValue; reason: string }>;

/** Values for the five keys. An absent field is left unchanged. */
export type ResolvedMonitor = Readonly<Partial<Record<MonitorField, WantedValue>>>;

/**
 * Determines each value. Order of precedence: the setting; the file's value under the version's own naming; the file's value under the
 * newest other naming; an earlier file's value; the default. Converts a value of the wrong type if its intent is clear.
 */
export function resolveMonitorValues(
  current: JsonObject | undefined,
  naming: Naming,
  desired: DesiredMonitor,
): ResolvedMonitor {
  if (!desired.enabled) return resolveDisabledValues(current, naming);
  const { earlier = [], fallback } = desired;
  const recall = (field: MonitorField) => fromEarlier(field, earlier, naming);
  const pick = (field: Exclude<MonitorField, "enabled">): WantedValue | undefined =>
    fromSetting(field, desired[field]) ??
    fromFile(field, current, naming) ??
    recall(field) ??
    fromDefault(field, fallback[field]);
  const address = pick("pushAddress");
  const portOfAddress = desired.pushAddress === undefined ? fromAddress(current, naming) : undefined;
  const fields = {
    enabled: address === undefined ? undefined : { value: true, reason: "monitor.enabled is true" },
    jobName: pick("jobName"),
    pushAddress: address,
    pushIntervalSeconds: pick("pushIntervalSeconds"),
    pushPort:
      fromSetting("pushPort", desired.pushPort) ??
      fromFile("pushPort", current, naming) ??
      portOfAddress ??
      pick("pushPort"),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, wanted]) => wanted !== undefined));
}

/** Returns the desired values with pushing disabled. Changes a switch only if the file has one, and keeps the file's other values. */
function resolveDisabledValues(current: JsonObject | undefined, naming: Naming): ResolvedMonitor {
  const names = [naming.own.enabled, ...listOtherNames(naming, "enabled")];
  const stands = current !== undefined && names.some((name) => Object.hasOwn(current, name));
  return stands ? { enabled: { value: false, reason: "monitor.enabled is false" } } : {};
}

function fromSetting(field: MonitorField, value: MonitorValue | undefined): WantedValue | undefined {
  return value === undefined ? undefined : { value, reason: `set by monitor.${field}` };
}

function fromDefault(field: MonitorField, value: MonitorValue | undefined): WantedValue | undefined {
  if (value === undefined) return undefined;
  const made = field === "jobName" ? ", derived from this machine's name and the data path" : "";
  return { value, reason: `default of monitor.${field}${made}, because it is in neither the settings nor the file` };
}

function fromFile(field: MonitorField, current: JsonObject | undefined, naming: Naming): WantedValue | undefined {
  for (const key of [naming.own[field], ...listOtherNames(naming, field)]) {
    const found = current?.[key];
    const value = found === undefined ? undefined : parseMonitorValue(field, found);
    if (value === undefined) continue;
    const reason =
      value === found ? `existing value of ${key} in the file` : `${key} was ${formatValue(found)}; ${typeRule[field]}`;
    return { value, reason };
  }
  return undefined;
}

function fromEarlier(field: MonitorField, earlier: readonly JsonObject[], naming: Naming): WantedValue | undefined {
  for (const monitor of earlier) {
    const value = fromFile(field, monitor, naming)?.value;
    if (value !== undefined) return { value, reason: "as in the last healthy node.conf" };
  }
  return undefined;
}

/** Uses the port included in the address, if the file has no port key. */
function fromAddress(current: JsonObject | undefined, naming: Naming): WantedValue | undefined {
  for (const key of [naming.own.pushAddress, ...listOtherNames(naming, "pushAddress")]) {
    const address = parseAddress(current?.[key]);
    if (address?.port !== undefined) return { value: address.port, reason: `the port that ${key} had in it` };
    if (address !== undefined) return undefined;
  }
  return undefined;
}

/** Values that the node expects (specification, "monitor_config keys"). */
export const typeRule: Readonly<Record<MonitorField, string>> = {
  enabled: "expected true or false",
  jobName: "expected a non-empty name",
  pushAddress: "expected a host name or IP address without protocol, port or path",
  pushIntervalSeconds: "expected a whole number of seconds, 1 or more",
  pushPort: "expected a whole number from 1 to 65535",
};

/** Parses a value as its field's type; undefined if the value can't be interpreted as that type. */
export function parseMonitorValue(field: MonitorField, value: unknown): MonitorValue | undefined {
  switch (field) {
    case "enabled":
      return value === true || value === "true" ? true : value === false || value === "false" ? false : undefined;
    case "jobName":
      return typeof value === "string" && value.trim() !== "" ? value : undefined;
    case "pushAddress":
      return parseAddress(value)?.host;
    case "pushIntervalSeconds":
      return parseWholeNumber(value, 86_400);
    case "pushPort":
      return parseWholeNumber(value, 65_535);
  }
}

/** Parses the host and port from an address that may include, by mistake, a protocol, credentials, brackets, a port or a path. */
export function parseAddress(value: unknown): Readonly<{ host: string; port?: number | undefined }> | undefined {
  if (typeof value !== "string") return undefined;
  const trimmed = value.trim();
  if (/^[0-9A-Fa-f:]+$/.test(trimmed) && trimmed.split(":").length > 2) return { host: trimmed };
  const authority = trimmed
    .replace(/^[a-z][a-z0-9+.-]*:\/\//i, "")
    .replace(/\/.*$/s, "")
    .replace(/^.*@/s, "");
  const port = parseWholeNumber(/:(\d+)$/.exec(authority)?.[1], 65_535);
  const host = authority.replace(/:\d+$/, "").replace(/^\[([0-9A-Fa-f:]+)\]$/, "$1");
  return /^[^\s/]+$/.test(host) ? { host, port } : undefined;
}

function parseWholeNumber(value: unknown, max: number): number | undefined {
  const number = typeof value === "string" && /^\d{1,6}$/.test(value.trim()) ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 1 && number <= max ? number : undefined;
}

/** Desired state of metrics pushing. If a value is absent, the file's value is kept, under whichever naming it has. */
export type DesiredMonitor = Readonly<{
  enabled: boolean;
  jobName?: string | undefined;
  /** Without protocol and port. */
  pushAddress?: string | undefined;
  pushPort?: number | undefined;
  pushIntervalSeconds?: number | undefined;
  /** `monitor_config` from this node's earlier files, best first; these values take precedence over the fallback. */
  earlier?: readonly JsonObject[];
  /** Values used when neither a setting nor the file provides one. */
  fallback: Readonly<{
    jobName?: string | undefined;
    pushAddress?: string | undefined;
    pushPort: number;
    pushIntervalSeconds: number;
  }>;
}>;

export type Desired = Readonly<{
  monitor: DesiredMonitor;
  prune: Readonly<{ enabled: boolean }>;
}>;
