import type { PreviewedStep } from "./pulumi-cli.ts";

/** Operations that change nothing that runs. */
const idle = new Set(["same", "read", "refresh", "read-replacement", "discard"]);

/** The node's own resources and its sidecar's, by what follows the stack's prefix: those that know the image or the version. */
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

/** The image that the engine pulls. */
const imageResource = "node-image";

const shownMax = 8;

/**
 * What of a previewed update is about something else than the node and its sidecar, in words: to go back would take that back too. Undefined where nothing is.
 * Pure.
 */
export function findStrangeChanges(steps: readonly PreviewedStep[], prefix: string): string | undefined {
  const own = new Set([...expected.map((name) => `${prefix}-${name}`), imageResource]);
  const strange = steps.filter(({ op, urn }) => !idle.has(op) && !isBookkeeping(urn) && !own.has(nameOf(urn)));
  if (strange.length === 0) return undefined;
  const named = [...new Set(strange.map(({ op, urn }) => `${nameOf(urn)} (${op})`))];
  const more = named.length > shownMax ? ` and ${named.length - shownMax} more` : "";
  return `pulumi up would change more than the node: ${named.slice(0, shownMax).join(", ")}${more}; run pulumi up for that first`;
}

/** Whether a previewed update changes the node. Pure. */
export function isNodeReplaced(steps: readonly PreviewedStep[], prefix: string): boolean {
  return steps.some(({ op, urn }) => !idle.has(op) && nameOf(urn) === `${prefix}-node`);
}

/** The stack itself has outputs that change, and no more. */
function isBookkeeping(urn: string): boolean {
  return urn.includes("::pulumi:pulumi:Stack::");
}

function nameOf(urn: string): string {
  return urn.split("::").at(-1) ?? urn;
}
