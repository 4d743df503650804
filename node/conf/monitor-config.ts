import {
  nodeReleases,
  findRelease,
  type MonitorField,
  type MonitorKeys,
  type NodeRelease,
  type NodeVersion,
} from "../versions.ts";

/** The fields of `monitor_config`, in the order in which they are written. */
export const monitorFields: readonly MonitorField[] = [
  "enabled",
  "jobName",
  "pushAddress",
  "pushIntervalSeconds",
  "pushPort",
];

export type KeySet = Readonly<{
  name: string;
  keys: MonitorKeys;
  instanceKey?: string | undefined;
  words: string;
  /** Description of the releases, e.g. `0.16.0 and later`. */
  range: string;
}>;

/** Lists every set of names that any release reads, newest first. */
export function listKeySets(): readonly KeySet[] {
  const byNaming = Map.groupBy(nodeReleases, ({ naming }) => naming);
  return [...byNaming.values()].flatMap(([first]) => (first === undefined ? [] : [buildKeySet(first)])).toReversed();
}

function buildKeySet({ naming, monitorKeys, instanceKey }: NodeRelease): KeySet {
  const first = nodeReleases.findIndex((release) => release.naming === naming);
  const since = first === 0 ? undefined : nodeReleases[first]?.since;
  const next = nodeReleases.slice(first).find((release) => release.naming !== naming)?.since;
  const isPrefix = Object.values(monitorKeys).every((key) => key.startsWith(`${naming}_`));
  return {
    name: naming,
    keys: monitorKeys,
    instanceKey,
    words: isPrefix ? `${naming}_*` : naming,
    range: describeRange(since, next),
  };
}

function describeRange(since: string | undefined, next: string | undefined): string {
  if (next === undefined) return since === undefined ? "every version" : `${since} and later`;
  return since === undefined ? `before ${next}` : `${since} to before ${next}`;
}

/** Names that a node reads, names that it silently ignores, and the releases at which these sets change. */
export type Naming = Readonly<{
  own: MonitorKeys;
  others: readonly MonitorKeys[];
  /** The name that this release uses for the instance key, and the names that other releases use. */
  instanceKey?: string | undefined;
  otherInstanceKeys: readonly string[];
  rule: string;
}>;

export function findNaming(version: NodeVersion): Naming {
  const release = findRelease(version);
  const { words, range } = buildKeySet(release);
  const others = listKeySets().filter(({ name }) => name !== release.naming);
  return {
    own: release.monitorKeys,
    others: others.map(({ keys }) => keys),
    instanceKey: release.instanceKey,
    otherInstanceKeys: others.flatMap(({ instanceKey }) =>
      instanceKey === release.instanceKey ? [] : (instanceKey ?? []),
    ),
    rule: `node ${version.text} reads the ${words} names (${range})`,
  };
}

/** Lists the names that other releases use for a field and this release ignores, newest first. */
export function listOtherNames(
  { own, others }: Pick<Naming, "own" | "others">,
  field: MonitorField,
): readonly string[] {
  return [...new Set(others.map((keys) => keys[field]))].filter((name) => name !== own[field]);
}
