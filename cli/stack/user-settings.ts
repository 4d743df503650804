import { readSettingsFile } from "#daemon/settings/file.ts";
import { listSettingsLeaves, toEnvironmentName, getValueAt } from "#daemon/settings/leaf.ts";
import type { SettingsDefinition } from "#daemon/settings/settings.ts";
import type { Variables } from "./child-environment.ts";

type Environment = Readonly<Record<string, string>>;

/** Removes the stack's own values for settings in the user's settings file, because a service's environment takes precedence over its file. */
export function preferFile({ service, schema }: SettingsDefinition, own: Environment, user: Variables): Environment {
  const path = user[toEnvironmentName(service, ["settingsPath"])];
  if (path === undefined || path === "") return own;
  const leaves = listSettingsLeaves(service, schema);
  // The service reports what is wrong with the file.
  const values = readSettingsFile(path, leaves, [])?.values;
  const given = new Set(leaves.filter((leaf) => getValueAt(values, leaf.path) !== undefined).map(({ env }) => env));
  return Object.fromEntries(Object.entries(own).filter(([name]) => !given.has(name)));
}

/** Services and commands whose settings no part of the stack reads, and the reason or alternative. */
const unusedReasons: Readonly<Record<string, string>> = {
  GATEHOUSE_GATEWAY_: "the sidecar is the gateway, with GATEHOUSE_SIDECAR_GATEWAY_…",
  GATEHOUSE_ENGINE_PROXY_: "the stack runs no containers",
  GATEHOUSE_RESTORE_: "the stack restores no snapshot",
  GATEHOUSE_VOLUME_SNAPSHOT_: "the stack takes no snapshots",
  GATEHOUSE_PAY_: "the stack pays with its own account",
  GATEHOUSE_REFUND_: "the stack makes no refunds",
  GATEHOUSE_DEVNET_LOG_: "the node's own ops starts it, which logs to run/node.log",
  GATEHOUSE_DEVNET_START_: "the node's own ops starts it",
  GATEHOUSE_DEVNET_SHUTDOWN_: "the node's own ops stops it",
};

/** Settings on which the services must agree; the user's value reaches one of them. */
const sharedSettings: ReadonlySet<string> = new Set([
  "GATEHOUSE_SIDECAR_NODE_WORKSPACE",
  "GATEHOUSE_SIDECAR_NODE_HTTP_URL",
  "GATEHOUSE_SIDECAR_NODE_WEB_SOCKET_URL",
  "GATEHOUSE_SIDECAR_NODE_CHAIN_ID",
  "GATEHOUSE_FACILITATOR_CHAIN_ID",
  "GATEHOUSE_FACILITATOR_CHAIN_RPC_URL",
  "GATEHOUSE_RESOURCE_SERVER_FACILITATOR_URL",
]);

/** Describes the user's variables that don't have the effect that they would have on a single service. */
export function describeUnusedSettings(user: Variables, own: Environment): readonly string[] {
  const given = Object.keys(user).filter((name) => (user[name] ?? "") !== "");
  return given.flatMap((name) => {
    const why = Object.entries(unusedReasons).find(([prefix]) => name.startsWith(prefix))?.[1];
    if (why !== undefined) return [`${name} is not used: ${why}.`];
    const value = own[name];
    if (!sharedSettings.has(name) || value === undefined || value === user[name]) return [];
    return [`${name} applies to that service alone; the rest of the stack uses ${value}.`];
  });
}
