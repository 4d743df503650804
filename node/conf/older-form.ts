import { nodeReleases } from "../versions.ts";

/** A top-level key that only earlier releases have, a message about the file, and how to update it. */
export type OlderForm = Readonly<{ key: string; message: string; fix: string }>;

const inline = "move its inline keys into files, and set domain_key_path and stabilizing_key_path to their paths.";

/** Top-level keys in releases from about December 2025, before 0.11. */
const roots: Readonly<Record<string, Omit<OlderForm, "key">>> = {
  aldaba: {
    message: "is the root key that releases of about December 2025 used instead of chain.",
    fix: `rename it to chain; ${inline}`,
  },
  cubenet: {
    message: "is a root key of releases of about December 2025, which later ones ignore.",
    fix: "remove it, and start from the configuration file in the node's release.",
  },
};

const flat: Omit<OlderForm, "key"> = {
  message: "is at the top level, as in the monitor.conf of releases before 0.11, which contains only the metrics keys.",
  fix: "move the metrics keys into chain.monitor_config of the configuration file.",
};

/** Finds the top-level keys that only earlier releases have. Returns only the first of the metrics keys. Pure. */
export function findOlderForms(value: Readonly<Record<string, unknown>>): readonly OlderForm[] {
  const metricsKey = Object.keys(value).find((key) =>
    nodeReleases.some(
      ({ monitorKeys, instanceKey }) => key === instanceKey || Object.values(monitorKeys).includes(key),
    ),
  );
  const found = Object.entries(roots).flatMap(([key, form]) => (Object.hasOwn(value, key) ? [{ key, ...form }] : []));
  return metricsKey === undefined ? found : [...found, { key: metricsKey, ...flat }];
}
