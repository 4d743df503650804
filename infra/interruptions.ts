import { findServiceRow, listStackServices } from "./stack-services.ts";

/**
 * A resource whose changes are reported: the node, data that can't be recreated, another service, hot-reloaded files, and secrets whose
 * change triggers a hot restart.
 */
export type Watched = "node" | "data" | "service" | "live" | "secrets";

/** Preview message about a change: a warning if the change stops something, otherwise an info message. */
export type Notice = Readonly<{ level: "warn" | "info"; text: string }>;

const storage = new Set([
  "docker:index/volume:Volume",
  "kubernetes:core/v1:PersistentVolumeClaim",
  "kubernetes:core/v1:Namespace",
]);
const containerType = "docker:index/container:Container";
const deploymentType = "kubernetes:apps/v1:Deployment";
const autoscalerType = "kubernetes:autoscaling/v2:HorizontalPodAutoscaler";
const serviceTypes = new Set([containerType, deploymentType, autoscalerType]);
const workloads = new Set([containerType, "kubernetes:apps/v1:StatefulSet"]);
const liveTypes = new Set([containerType, "kubernetes:core/v1:Secret"]);
const secretsName = /-sidecar-secrets$/;
/** Live file whose change triggers a hot restart; the running process reloads the other live files. */
const handingOver = "settings.json5";
const liveFiles = ["policy.json5", "api-keys.json5", "routes.json5", handingOver];

const services = listStackServices().map((name) => ({ name, row: findServiceRow(name) }));
const missed = services.filter(({ row }) => row.without !== undefined);
const handedOver = services.filter(({ row }) => row.hotRestart !== undefined);
const precious = [...services.flatMap(({ name, row }) => (row.keeps ? [`-${name}-${row.keeps}`] : [])), "-namespace"];
const shownPaths = 5;

/** Returns the service whose name is at the end of a resource's name, before the given suffix. */
function findByEnd(name: string, among: typeof services, then = "") {
  return among.find((service) => name.endsWith(`-${service.name}${then}`));
}

function isPrecious(name: string): boolean {
  return precious.some((end) => name.endsWith(end));
}

/** Returns the kind of a watched resource, or `undefined` if changes to it are not reported. */
export function findWatched(type: string, name: string): Watched | undefined {
  if (workloads.has(type) && name.endsWith("-node")) return "node";
  if (liveTypes.has(type) && findServiceOfLive(name) !== undefined) return "live";
  if (liveTypes.has(type) && secretsName.test(name)) return "secrets";
  if (serviceTypes.has(type) && findByEnd(name, missed) !== undefined) return "service";
  return storage.has(type) && isPrecious(name) ? "data" : undefined;
}

export function findServiceOfLive(name: string): string | undefined {
  return findByEnd(name, handedOver, "-live")?.name;
}

/**
 * Describes the effects of replacing an existing resource; returns undefined for a cluster's own objects for services.
 *
 * @param changedFiles names of the changed live files; absent if unknown.
 */
export function describeReplacement(
  what: Watched,
  name: string,
  { type, changedFiles }: Readonly<{ type: string; changedFiles?: readonly string[] | undefined }>,
): Notice | undefined {
  if (what !== "node" && what !== "data" && type !== containerType) return undefined;
  switch (what) {
    case "node":
      return warn(
        `${name} would be replaced: the node stops, for which it has 300 s, and is started again; until then, the gateway has no node. ` +
          "Its data stays on its volume, unless that is also listed here. Pulumi shows next to `replace` which properties force it; undo that change, or schedule it.",
      );
    case "data":
      return warn(
        `${name} would be replaced, and its content, chain data or a ledger, lost. Undo the change that Pulumi shows next to ` +
          "`replace`, or back up the data first.",
      );
    case "service":
      return warn(
        `${name} would be replaced: ${describeAbsence(name)} from its stop until the new one has started, about 10 s, longer on a loaded host: ` +
          "only one container at a time can have its name and ports. The node keeps running, unless it is also listed here.",
      );
    case "live":
      return describeNewFiles(name, changedFiles);
    case "secrets":
      return describeNewSecrets(name);
  }
}

/** Describes the effects of removing a resource from the program; returns undefined if the removal affects neither the node nor data. */
export function describeRemoval(name: string): string | undefined {
  if (name.endsWith("-node")) {
    return `${name} would be removed: the node stops and is not restarted. Its data stays on its volume, unless that is also listed here.`;
  }
  if (!isPrecious(name)) return undefined;
  return `${name} would be removed, and its content, chain data or a ledger, lost, unless it is protected (protectData). Back up the data first.`;
}

function describeAbsence(name: string): string {
  return findByEnd(name, missed)?.row.without ?? "it is unavailable";
}

function describeHotRestart(service: string): string {
  const found = handedOver.find(({ name }) => name === service);
  return `hot-restarts the ${service.replace("-", " ")}: a new process accepts requests before the old one exits. ${found?.row.hotRestart}`;
}

/** Does not list individual secrets: it is known only that the resource contains secrets, and on Docker another image redelivers unchanged ones. */
function describeNewSecrets(name: string): Notice {
  return inform(`${name} updates the sidecar's secrets; a changed one ${describeHotRestart("sidecar")}.`);
}

function describeNewFiles(name: string, changed: readonly string[] | undefined): Notice {
  const read = "hot-reloaded: nothing stops, and no request fails";
  const handed = describeHotRestart(findServiceOfLive(name) ?? "");
  if (changed === undefined) {
    return inform(`${name} delivers new files: a policy, API keys or routes are ${read}; ${handingOver} ${handed}.`);
  }
  const isHandedOver = changed.includes(handingOver);
  return inform(`${name} delivers a new ${changed.join(", ")}, which ${isHandedOver ? handed : `is ${read}`}.`);
}

const warn = (text: string): Notice => ({ level: "warn", text });
const inform = (text: string): Notice => ({ level: "info", text });

/** Returns what an in-place update interrupts: a StatefulSet or Deployment recreates its pods only when the pod template changes. */
export function findUpdateInterruption(
  type: string,
  name: string,
  { before, after }: Readonly<{ before: unknown; after: unknown }>,
): Notice | undefined {
  const what = findWatched(type, name);
  if (what === "secrets" && type !== containerType) return describeNewSecrets(name);
  if (what === "live" && type !== containerType) {
    const changed = listChangedPaths(getAt(before, "stringData"), getAt(after, "stringData"), "");
    const files = liveFiles.filter((file) => changed.some((path) => path.endsWith(`.${file}`)));
    return describeNewFiles(name, files.length === 0 ? undefined : files);
  }
  if (type === autoscalerType) return describeScaling(name, formatBounds(before), formatBounds(after));
  if (type !== "kubernetes:apps/v1:StatefulSet" && type !== deploymentType) return undefined;
  const changed = listChangedPaths(
    getAt(before, "spec", "template"),
    getAt(after, "spec", "template"),
    "spec.template",
  );
  if (changed.length === 0) return undefined;
  const more = changed.length > shownPaths ? ` and ${changed.length - shownPaths} more` : "";
  const because = `because of ${changed.slice(0, shownPaths).join(", ")}${more}`;
  if (type === deploymentType) return describeRenewal(name, because, [before, after].map(isRecreated));
  return warn(
    `${name} would recreate its pod ${because}: the node stops, for which it has ` +
      "300 s, and is started again; until then, the gateway has no node. Its data stays on its volume. Undo that change, or schedule it.",
  );
}

function describeScaling(name: string, before: string, after: string): Notice | undefined {
  if (before === after) return undefined;
  return inform(
    `${name} would have ${after} instead of ${before}: pods are started or stopped, and the others keep serving.`,
  );
}

function formatBounds(inputs: unknown): string {
  const bounds = ["minReplicas", "maxReplicas"].map((key) => getAt(inputs, "spec", key));
  return `${[...new Set(bounds)].join(" to ")} pods`;
}

/** Describes the replacement of a Deployment's pods. Without a volume, the new pod starts before the old one exits; with a volume, it can't. */
function describeRenewal(name: string, because: string, [was, is]: readonly boolean[]): Notice {
  if (is !== true) return inform(`${name} would be rolled ${because}: a new pod is ready before an old one stops.`);
  const service = findByEnd(name, missed);
  // Pulumi deletes removed resources last.
  const before =
    was === false
      ? ` Its autoscaler would start a second pod before it is deleted: run \`kubectl delete horizontalpodautoscaler ${service?.name}\` first.`
      : "";
  const why =
    service?.row.keeps === "ledger"
      ? "because its ledger is on a volume. With databaseUrl it would be rolled."
      : "because only one pod at a time can mount its volume.";
  return warn(
    `${name} would recreate its pod ${because}: ${describeAbsence(name)} from its stop until the new one is ready, ${why}${before}`,
  );
}

function isRecreated(inputs: unknown): boolean {
  return getAt(inputs, "spec", "strategy", "type") === "Recreate";
}

/** Lists the paths at which two values differ; a value that is unknown until the update differs from every other value. */
function listChangedPaths(before: unknown, after: unknown, path: string): readonly string[] {
  if (Object.is(before, after)) return [];
  if (typeof before !== "object" || typeof after !== "object" || before === null || after === null) return [path];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const inner = (key: string) => (Array.isArray(before) ? `${path}[${key}]` : `${path}.${key}`);
  return keys.flatMap((key) => listChangedPaths(getAt(before, key), getAt(after, key), inner(key)));
}

function getAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (found, key) => (typeof found === "object" && found !== null ? (found as Record<string, unknown>)[key] : undefined),
    value,
  );
}
