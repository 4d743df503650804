import { fields, items, text } from "./values.ts";

/** A planned change that would interrupt the node or drop what can't be made again. */
export type Interruption = Readonly<{
  urn: string;
  effect: "interrupts the node" | "drops chain data or a ledger";
  /** Properties that make it necessary. */
  because: readonly string[];
}>;

const losing = new Set(["delete", "replace", "delete-replaced"]);
const storage = new Set(["docker:index/volume:Volume", "kubernetes:core/v1:PersistentVolumeClaim"]);
const workloads = new Set(["docker:index/container:Container", "kubernetes:apps/v1:StatefulSet"]);
const precious = /workspace|ledger|chain|postgres(?!-files)/;

/**
 * Finds in the output of `pulumi preview --json` what would interrupt the node (its container or StatefulSet is replaced or
 * deleted) or drop data (a volume or claim of chain data or a ledger is). A policy can't: it sees what will be, not what was.
 *
 * @throws {TypeError} when the output has no list of steps.
 */
export function interruptionsOf(preview: unknown): readonly Interruption[] {
  const { steps } = fields(preview);
  if (!Array.isArray(steps))
    throw new TypeError("this is no output of `pulumi preview --json`: it has no list of steps");
  const found = items(steps).map(fields).flatMap(interruptionOf);
  return [...new Map(found.map((interruption) => [interruption.urn, interruption])).values()];
}

function interruptionOf(step: Readonly<Record<string, unknown>>): readonly Interruption[] {
  const urn = text(step["urn"]) ?? "";
  if (!losing.has(text(step["op"]) ?? "")) return [];
  const because = items(step["replaceReasons"]).flatMap((reason) => text(reason) ?? []);
  const [, , types = "", name = ""] = urn.split("::");
  const type = types.split("$").at(-1) ?? "";
  if (storage.has(type) && precious.test(name)) return [{ urn, effect: "drops chain data or a ledger", because }];
  return workloads.has(type) && name.endsWith("-node") ? [{ urn, effect: "interrupts the node", because }] : [];
}
