import { formatKubectlCommand } from "../stack-commands.ts";
import type { KubernetesTarget } from "../stack-target.ts";
import { names } from "./kubernetes-names.ts";
import { buildWorkSpec, type WorkPlace } from "./work-pod.ts";

const withinMs = 600_000;

/** Formats the command that removes everything an upgrade has left on the node's claim. Pure. */
export function formatDiscardCommand(target: KubernetesTarget, place: WorkPlace & Readonly<{ id: string }>): string {
  const name = `${names.job}-discard`;
  const { id } = place;
  const spec = buildWorkSpec(place, { name, owner: id, action: "discard", more: [id], onNodeOfPods: true, withinMs });
  const overrides = JSON.stringify({ apiVersion: "v1", spec });
  const options = ["--rm", "--attach", "--restart=Never", `--image=${place.toolImage}`, `--overrides=${overrides}`];
  return formatKubectlCommand(target, "run", name, ...options);
}
