import { fields } from "./values.ts";

/**
 * What a `node.conf` says wrongly for a node of some version (specification, "monitor_config keys" and "Versioning", 2): with keys
 * of another version's names metrics are not pushed, and nothing says so.
 */

const fieldNames = ["job_name", "push_address", "push_interval", "push_port"];
const storageKeys = ["storage_enable_cetina", ...fieldNames.map((field) => `storage_cetina_${field}`)];
const pamirKeys = ["enable_pamir_cetina", ...fieldNames.map((field) => `pamir_cetina_${field}`)];

/** Major and minor number of a version such as `v0.16.2-rc.1`; a pre-release counts as its release. */
export function majorMinor(version: string): readonly [number, number] | undefined {
  const found = /^v?(\d+)\.(\d+)/.exec(version);
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
}

/** The findings about a `node.conf`'s text, a line each; none when it is right. */
export function nodeConfigurationFindings(text: string, version: string): readonly string[] {
  const known = majorMinor(version);
  if (known === undefined) return [`can't be judged: "${version}" is no version`];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return [`is no JSON: ${String(error)}`];
  }
  const monitor = fields(fields(fields(parsed)["chain"])["monitor_config"]);
  const [major, minor] = known;
  const storage = major > 0 || minor >= 16;
  const [own, other] = storage ? [storageKeys, pamirKeys] : [pamirKeys, storageKeys];
  const present = Object.keys(monitor);
  if (present.length === 0) return ["has no chain.monitor_config, so the node pushes no metrics"];
  return [
    ...present
      .filter((key) => other.includes(key))
      .map(
        (key) =>
          `chain.monitor_config.${key} is ignored by node ${version}, which reads ${own[other.indexOf(key)] ?? ""}`,
      ),
    ...own
      .filter((key) => !present.includes(key))
      .map((key) => `chain.monitor_config lacks ${key}, which node ${version} reads`),
    ...(monitor[own[0] ?? ""] === false
      ? [`chain.monitor_config.${own[0] ?? ""} is false, so the node pushes no metrics`]
      : []),
  ];
}
