import type { PreviewedStep } from "./pulumi-cli.ts";

const idle = new Set(["same", "read", "refresh", "read-replacement", "discard"]);

/** Node and sidecar resources that depend on the image or the version, by their names after the stack's prefix. */
const expected = [
  "node",
  "node-prime",
  "node-conf",
  "node-image-bin",
  "node-bin",
  "sidecar",
  "sidecar-files",
  "sidecar-live",
  "sidecar-secrets",
];

const imageResource = "node-image";

const shownMax = 8;

/** Describes changes to anything but the node and its sidecar, which a rollback would revert too. */
export function findUnrelatedChanges(steps: readonly PreviewedStep[], prefix: string): string | undefined {
  const own = new Set([...expected.map((name) => `${prefix}-${name}`), imageResource]);
  const unrelated = steps.filter(({ op, urn }) => !idle.has(op) && !isBookkeeping(urn) && !own.has(parseName(urn)));
  if (unrelated.length === 0) return undefined;
  const named = [...new Set(unrelated.map(({ op, urn }) => `${parseName(urn)} (${op})`))];
  const more = named.length > shownMax ? ` and ${named.length - shownMax} more` : "";
  return `pulumi up would change more than the node: ${named.slice(0, shownMax).join(", ")}${more}; run pulumi up for that first`;
}

export function isNodeReplaced(steps: readonly PreviewedStep[], prefix: string): boolean {
  return steps.some(({ op, urn }) => !idle.has(op) && parseName(urn) === `${prefix}-node`);
}

/** Returns whether the resource is the stack itself, of which only outputs change. */
function isBookkeeping(urn: string): boolean {
  return urn.includes("::pulumi:pulumi:Stack::");
}

function parseName(urn: string): string {
  return urn.split("::").at(-1) ?? urn;
}
