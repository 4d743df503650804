import { nodeReleases, type NodeReleases } from "../versions.ts";

/** A top-level key that only earlier releases have, a message about the file, and how to update it. */
export type OlderForm = Readonly<{ key: string; message: string; fix: string }>;

const inline = "keys that it holds inline go into files, which domain_key_path and stabilizing_key_path name.";

/** Top-level keys in releases from about December 2025, before 0.11. */
const roots: Readonly<Record<string, Omit<OlderForm, "key">>> = {
  aldaba: {
    message: "is the root that releases of about December 2025 had in place of chain.",
    fix: `rename it to chain; ${inline}`,
  },
  cubenet: {
    message: "is a root of releases of about December 2025, which later ones do not read.",
    fix: "remove it, and begin with the configuration file that comes with the node's release.",
  },
};

const flat: Omit<OlderForm, "key"> = {
  message:
    "stands at the top, as in the monitor.conf of releases before 0.11, which holds nothing but the metrics keys.",
  fix: "move the metrics keys into chain.monitor_config of the configuration file.",
};

/** Finds the top-level keys that only earlier releases have. Of the metrics keys, returns only the first. Pure. */
export function findOlderForms(
  value: Readonly<Record<string, unknown>>,
  releases: NodeReleases = nodeReleases,
): readonly OlderForm[] {
  const names = new Set(
    releases.flatMap(({ monitorKeys, instanceKey = "" }) => [...Object.values(monitorKeys), instanceKey]),
  );
  const metricsKey = Object.keys(value).find((key) => names.has(key));
  const found = Object.entries(roots).flatMap(([key, form]) => (Object.hasOwn(value, key) ? [{ key, ...form }] : []));
  return metricsKey === undefined ? found : [...found, { key: metricsKey, ...flat }];
}
