/** A resource whose end would interrupt the node, or drop what can't be made again. */
export type Watched = "node" | "data";

const storage = new Set([
  "docker:index/volume:Volume",
  "kubernetes:core/v1:PersistentVolumeClaim",
  "kubernetes:core/v1:Namespace",
]);
const workloads = new Set(["docker:index/container:Container", "kubernetes:apps/v1:StatefulSet"]);
const precious = /-(?:node-workspace|facilitator-ledger|resource-server-ledger|postgres-data|namespace)$/;
const shownPaths = 5;

/** What the end of a resource of a stack would mean; `undefined` where it means nothing more than a moment without that service. */
export function watchedAs(type: string, name: string): Watched | undefined {
  if (workloads.has(type) && name.endsWith("-node")) return "node";
  return storage.has(type) && precious.test(name) ? "data" : undefined;
}

/** What it means that a resource, which the stack has already, is made again. */
export function replacementOf(what: Watched, name: string): string {
  return what === "node"
    ? `${name} would be replaced: the node stops, for which it is given 300 s, and is started anew; until then the gateway has no node to ask. ` +
        "Its data stay on their volume, unless that is named here too. Which properties force it, Pulumi shows beside `replace`; undo that change, or choose a time for it."
    : `${name} would be replaced: what it holds, chain data or a ledger, would be dropped. Undo the change that Pulumi shows beside ` +
        "`replace`, or save the data first.";
}

/** What it means that a resource of the stack is not in the program any more. */
export function removalOf(name: string): string {
  return watchedNode(name)
    ? `${name} would be removed: the node stops and does not come back. Its data stay on their volume, unless that is named here too.`
    : `${name} would be removed, and what it holds, chain data or a ledger, dropped, unless it is protected (protectData). Save the data first.`;
}

/** What an update in place interrupts: a StatefulSet makes its pod anew for any change of the pod's template, and for nothing else. */
export function interruptionByUpdate(
  type: string,
  name: string,
  { before, after }: Readonly<{ before: unknown; after: unknown }>,
): string | undefined {
  if (type !== "kubernetes:apps/v1:StatefulSet") return undefined;
  const changed = changedPaths(podTemplate(before), podTemplate(after), "spec.template");
  if (changed.length === 0) return undefined;
  const more = changed.length > shownPaths ? ` and ${changed.length - shownPaths} more` : "";
  return (
    `${name} would make its pod anew because of ${changed.slice(0, shownPaths).join(", ")}${more}: the node stops, for which it is given ` +
    "300 s, and is started again; until then the gateway has no node to ask. Its data stay on their volume. Undo that change, or choose a time for it."
  );
}

function podTemplate(inputs: unknown): unknown {
  return at(at(inputs, "spec"), "template");
}

function watchedNode(name: string): boolean {
  return name.endsWith("-node");
}

/** Paths at which two values differ; a value that only the update will know differs from every other. */
function changedPaths(before: unknown, after: unknown, path: string): readonly string[] {
  if (Object.is(before, after)) return [];
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return [path];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const inner = (key: string) => (Array.isArray(before) ? `${path}[${key}]` : `${path}.${key}`);
  return keys.flatMap((key) => changedPaths(at(before, key), at(after, key), inner(key)));
}

function at(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}

/**
 * What a stack whose real node still keeps its programs and its node.conf on its volume is told before that changes.
 *
 * @param told what the stack's last update said of where node.conf is; earlier releases said nothing.
 */
export function newPlaceOfConf({
  node,
  deployed,
  told,
}: Readonly<{ node: string; deployed: readonly string[]; told: unknown }>) {
  if (told !== undefined || !deployed.includes(node)) return undefined;
  return (
    `${node} has its programs and its node.conf on one volume with its chain data. From this update on it runs the programs of its image, ` +
    "and its node.conf is taken over into the directory conf of that volume; the old one stays where it is and is read no more. Chain data stay in place, uncopied. " +
    "Its keys come from domainKey and stabilizingKey, or from where nodeKeysSecret or nodeKeysDirectory says, and no more from the volume."
  );
}
