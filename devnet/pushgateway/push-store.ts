import { buildSampleKey, sortLabels, type Labels, type MetricFamilies, type MetricFamily } from "./metric-family.ts";

/** A push that would leave the store inconsistent, or too large. */
export class PushError extends Error {
  override readonly name = "PushError";
  readonly code: "inconsistent" | "full";

  constructor(code: PushError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** One push. */
export type Push = Readonly<{
  /** `replace`: the group has these families alone; `merge`: these replace those of the same names. */
  mode: "replace" | "merge";
  key: Labels;
  families: MetricFamilies;
}>;

/** Content of a group. */
export type PushStore = Readonly<{
  /** @throws {PushError} and leaves the group as it was, but for the time of the failure. */
  push(push: Push): void;
  /** Forgets exactly this group, if it is there. */
  remove(key: Labels): void;
  /** Lists all groups' families merged, with `push_time_seconds` and `push_failure_time_seconds` of each group, and `own`. */
  families(): readonly MetricFamily[];
}>;

/** Bounds of all groups together; a push beyond them is refused. */
export type PushStoreOptions = Readonly<{ groupsMax: number; samplesMax: number }>;

type Group = Readonly<{
  key: Labels;
  families: MetricFamilies;
  pushedAtSeconds: number;
  failedAtSeconds: number;
}>;

/** Metrics that the store makes itself: pushed ones of these names are dropped. */
const pushTimes = {
  push_time_seconds: "Last Unix time when changing this group in the Pushgateway succeeded.",
  push_failure_time_seconds: "Last Unix time when changing this group in the Pushgateway failed.",
} as const;

/**
 * Keeps pushed metrics in memory, a group for each grouping key, as Prometheus's Pushgateway does: the key's labels win over the
 * samples' own, `instance` is there even when empty, nothing expires.
 */
export function createPushStore(
  options: PushStoreOptions,
  { now, own }: Readonly<{ now: () => number; own: () => MetricFamilies }>,
): PushStore {
  const groups = new Map<string, Group>();
  const push = ({ mode, key, families }: Push) => {
    const id = JSON.stringify(sortLabels(key));
    const before = groups.get(id) ?? { key, families: new Map(), pushedAtSeconds: 0, failedAtSeconds: 0 };
    if (!groups.has(id) && groups.size >= options.groupsMax) {
      throw new PushError("full", `there are ${groups.size} groups already; delete one first`);
    }
    const pushed = withKey(families, key);
    const after = mode === "replace" ? pushed : new Map([...before.families, ...pushed]);
    const others = [...groups].filter(([other]) => other !== id).map(([, group]) => group.families);
    try {
      requireConsistent(after, [own(), ...others], options.samplesMax);
    } catch (error) {
      groups.set(id, { ...before, failedAtSeconds: now() / 1_000 });
      throw error;
    }
    groups.set(id, { ...before, families: after, pushedAtSeconds: now() / 1_000 });
  };
  return {
    push,
    remove: (key) => void groups.delete(JSON.stringify(sortLabels(key))),
    families: () => merge([own(), ...[...groups.values()].flatMap((group) => [group.families, buildPushTimes(group)])]),
  };
}

function withKey(families: MetricFamilies, key: Labels): MetricFamilies {
  const kept = [...families].filter(([name]) => !(name in pushTimes));
  return new Map(
    kept.map(([name, family]) => {
      const samples = family.samples.map((sample) => ({
        ...sample,
        labels: new Map([["instance", ""], ...sample.labels, ...key]),
      }));
      return [name, { ...family, samples }];
    }),
  );
}

function requireConsistent(group: MetricFamilies, others: readonly MetricFamilies[], samplesMax: number): void {
  const samples = [...group.values()].flatMap((family) => family.samples);
  const kept = others.flatMap((families) => [...families.values()].map((family) => family.samples.length));
  if (kept.reduce((sum, count) => sum + count, samples.length) > samplesMax) {
    throw new PushError("full", `more than ${samplesMax} samples; delete a group first`);
  }
  if (samples.some((sample) => sample.hasTimestamp))
    throw createInconsistencyError("pushed metrics must not have timestamps");
  const seen = new Set<string>();
  for (const family of group.values()) {
    for (const other of others) {
      const same = other.get(family.name);
      if (same === undefined) continue;
      if (same.type !== family.type) {
        throw createInconsistencyError(
          `metric family ${family.name} has type ${family.type} but should have ${same.type}`,
        );
      }
      for (const sample of same.samples) seen.add(buildSampleKey(sample));
    }
  }
  for (const sample of samples) {
    const reserved = [...sample.labels.keys()].find((name) => name.startsWith("__"));
    if (reserved !== undefined)
      throw createInconsistencyError(`metric ${sample.name} has a label with an invalid name: ${reserved}`);
    const key = buildSampleKey(sample);
    if (seen.has(key))
      throw createInconsistencyError(`metric ${sample.name} was collected before with the same name and label values`);
    seen.add(key);
  }
}

function createInconsistencyError(reason: string): PushError {
  return new PushError("inconsistent", `pushed metrics are invalid or inconsistent with existing metrics: ${reason}`);
}

function buildPushTimes({ key, pushedAtSeconds, failedAtSeconds }: Group): MetricFamilies {
  const labels = new Map([["instance", ""], ...key]);
  const gauge = (name: keyof typeof pushTimes, value: number): [string, MetricFamily] => [
    name,
    { name, type: "gauge", help: pushTimes[name], samples: [{ name, labels, value, hasTimestamp: false }] },
  ];
  return new Map([gauge("push_time_seconds", pushedAtSeconds), gauge("push_failure_time_seconds", failedAtSeconds)]);
}

function merge(all: readonly MetricFamilies[]): readonly MetricFamily[] {
  const merged = new Map<string, MetricFamily & { samples: MetricFamily["samples"][number][] }>();
  for (const family of all.flatMap((families) => [...families.values()])) {
    const known = merged.get(family.name);
    if (known === undefined) merged.set(family.name, { ...family, samples: [...family.samples] });
    else known.samples.push(...family.samples);
  }
  return [...merged.values()];
}
