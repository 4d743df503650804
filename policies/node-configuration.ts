// This import is relative instead of `#sidecar`: Pulumi requires a package.json in the pack, and Node resolves such names through the
// nearest package.json.
import { lintConfig } from "../node/lint/lint-config.ts";
import { parseImageVersion, parseNodeVersion, type NodeVersion } from "../node/versions.ts";
import { parseConfig } from "../node/conf/document.ts";
import { monitorFields, findNaming } from "../node/conf/monitor-config.ts";
import { readFields } from "./values.ts";

/**
 * Lints a rendered `node.conf` for a node version with the sidecar's own lint. Also checks what lint leaves to the sidecar but a deployment
 * must contain: that version's metrics keys, with pushing enabled (specification, "monitor_config keys" and "Versioning", 2). Returns one
 * line per finding.
 */
export function lintNodeConfiguration(text: string, version: string): readonly string[] {
  const known = parseNodeVersion(version);
  if (known === undefined) return [`can't be checked: "${version}" is not a version`];
  const linted = lintConfig(Buffer.from(text), known).map(({ line, column, path, message, fix }) => {
    const subject = path === "" ? message : `${path} ${message}`;
    return `(line ${line}, column ${column}) ${subject} Fix: ${fix}`;
  });
  return [...linted, ...findSilentMetrics(text, known)];
}

/** Describes a mismatch between the release lines of a version and an image tag; undefined if they match, or if the tag contains no version. */
export function findImageDisagreement(version: string, image: string): string | undefined {
  const parsed = parseNodeVersion(version);
  const tagged = parseImageVersion(image);
  if (parsed === undefined || tagged === undefined || getReleaseLine(parsed) === getReleaseLine(tagged))
    return undefined;
  return `the sidecar is configured for node version ${version}, but its image is ${tagged.text}`;
}

/** Returns the major and minor version, which determine the node's keys and commands. */
function getReleaseLine({ release }: NodeVersion): string {
  return release.split(".", 2).join(".");
}

/** Returns the reason why metrics would never be pushed, which no node reports: there are no keys at all, a key is missing, or the switch is off. */
function findSilentMetrics(text: string, version: NodeVersion): readonly string[] {
  const monitor = readMonitorConfig(text);
  if (monitor === undefined) return [];
  const present = Object.keys(monitor);
  if (present.length === 0) return ["has no chain.monitor_config, so the node pushes no metrics"];
  const { own } = findNaming(version);
  const lacking = monitorFields.map((field) => own[field]).filter((key) => !present.includes(key));
  return [
    ...lacking.map((key) => `chain.monitor_config does not have ${key}, which node ${version.text} needs`),
    ...(monitor[own.enabled] === false
      ? [`chain.monitor_config.${own.enabled} is false, so the node pushes no metrics`]
      : []),
  ];
}

/** Reads `chain.monitor_config` from a text; returns undefined if the text can't be parsed, which lint reports. */
function readMonitorConfig(text: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseConfig(Buffer.from(text));
  return parsed.ok ? readFields(parsed.document.chain["monitor_config"]) : undefined;
}
