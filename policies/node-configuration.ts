// Relative, not by `#sidecar`: Pulumi wants a package.json of the pack's own, and Node looks such names up in the nearest one.
import { lintConfig } from "../node/lint/lint-config.ts";
import {
  parseImageVersion,
  nodeReleases,
  parseNodeVersion,
  type NodeReleases,
  type NodeVersion,
} from "../node/versions.ts";
import { parseConfig } from "../node/conf/document.ts";
import { monitorFields, findNaming } from "../node/conf/monitor-keys.ts";
import { readFields } from "./values.ts";

/**
 * What the sidecar's own lint has against a rendered `node.conf`, for a node of some version, and what it leaves to the sidecar
 * but a deployment has to say: the metrics keys of that version, switched on (specification, "monitor_config keys" and
 * "Versioning", 2). A line each; none when the file is right.
 */
export function lintNodeConfiguration(
  text: string,
  version: string,
  releases: NodeReleases = nodeReleases,
): readonly string[] {
  const known = parseNodeVersion(version);
  if (known === undefined) return [`can't be judged: "${version}" is no version`];
  const linted = lintConfig(Buffer.from(text), known, releases).map(({ line, column, path, message, fix }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    return `(line ${line}, column ${column}) ${subject} Fix: ${fix}`;
  });
  return [...linted, ...silentMetrics(text, known, releases)];
}

/** Whether a version is another release line than an image's tag names; `undefined` when the tag names none. */
export function findImageDisagreement(version: string, image: string): string | undefined {
  const parsed = parseNodeVersion(version);
  const tagged = parseImageVersion(image);
  if (parsed === undefined || tagged === undefined || releaseLine(parsed) === releaseLine(tagged)) return undefined;
  return `the sidecar is set up for a node of version ${version}, but its image is ${tagged.text}`;
}

/** Major and minor number: what decides the node's keys and commands. */
function releaseLine({ release }: NodeVersion): string {
  return release.split(".", 2).join(".");
}

/** Metrics that are never pushed, which no node reports: no keys at all, a key that is missing, the switch turned off. */
function silentMetrics(text: string, version: NodeVersion, releases: NodeReleases): readonly string[] {
  const monitor = monitorOf(text);
  if (monitor === undefined) return [];
  const present = Object.keys(monitor);
  if (present.length === 0) return ["has no chain.monitor_config, so the node pushes no metrics"];
  const { own } = findNaming(version, releases);
  const lacking = monitorFields.map((field) => own[field]).filter((key) => !present.includes(key));
  return [
    ...lacking.map((key) => `chain.monitor_config lacks ${key}, which node ${version.text} reads`),
    ...(monitor[own.enabled] === false
      ? [`chain.monitor_config.${own.enabled} is false, so the node pushes no metrics`]
      : []),
  ];
}

/** `chain.monitor_config` of a text; of one that can't be read the lint says enough. */
function monitorOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseConfig(Buffer.from(text));
  return parsed.ok ? readFields(parsed.document.chain["monitor_config"]) : undefined;
}
