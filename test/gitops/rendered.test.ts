import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { stringify } from "yaml";
import { describe, expect, it } from "vitest";
import { recordStack, listManifests, type Manifest } from "#infra/testing/deployed-stack.ts";
import { readStackFile, signerPrivateKey, type RawConfig } from "#infra/testing/stack-configs.ts";
import { template } from "./workflow.ts";

/**
 * The template's stacks. The tests check the objects that the program registers. Writing `renderTo`'s files from them needs the provider
 * and Pulumi's command line (rendered.integration.test.ts).
 */
const stacks = globSync("stacks/Pulumi.*.yaml", { cwd: template }).toSorted();

function configOf(path: string): RawConfig {
  const { kubernetesContext: _context, ...rest } = readStackFile(join(template, path));
  return { renderTo: "rendered", ...("devAccounts" in rest ? {} : { signerPrivateKey }), ...rest };
}

/** The first run loads the Kubernetes SDK, which is slow on a busy machine. */
const timeout = 60_000;

const prunedByNobody = {
  "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
  "kustomize.toolkit.fluxcd.io/prune": "disabled",
};

const isOwners = ([key]: readonly [string, string]) => /argoproj|fluxcd/.test(key);

/** Annotations for Argo CD and Flux on the namespace and on each claim, by name. */
async function ownersAnnotations(config: Readonly<Record<string, string>>) {
  const kept = listManifests(await recordStack(config, { preview: false })).filter(
    ({ kind }) => kind === "Namespace" || kind === "PersistentVolumeClaim",
  );
  return Object.fromEntries(
    kept.map(({ metadata }) => [
      metadata.name,
      Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(isOwners)),
    ]),
  );
}

async function rendered(path: string): Promise<readonly Manifest[]> {
  return listManifests(await recordStack(configOf(path), { preview: false }));
}

/** Runs the program again; without an observer, it would share another test's run. */
async function renderedAgain(path: string): Promise<readonly Manifest[]> {
  return listManifests(await recordStack(configOf(path), { preview: false, watch: () => undefined }));
}

describe.each(stacks)("the objects that %s renders", { timeout }, (path) => {
  it("are identical on every run", async () => {
    const texts = [await rendered(path), await renderedAgain(path)].map((manifests) =>
      manifests.map((m) => stringify(m)),
    );
    expect(texts[0]).toHaveLength(new Set(texts[0]).size);
    expect(texts[1]).toEqual(texts[0]);
  });

  it("have a namespace and a case-insensitively unique name", async () => {
    const manifests = await rendered(path);
    expect(manifests.length).toBeGreaterThan(25);
    const places = manifests.map(({ apiVersion, kind, metadata }) =>
      [apiVersion, kind, metadata.namespace ?? "", metadata.name].join("-").toLowerCase(),
    );
    expect(places).toHaveLength(new Set(places).size);
    const placeless = manifests.filter(
      ({ kind, metadata }) => kind !== "Namespace" && metadata.namespace === undefined,
    );
    expect(placeless.map(({ kind }) => kind)).toEqual([]);
  });

  it("support server-side apply: no server-set fields, no duplicate list keys", async () => {
    for (const manifest of await rendered(path)) {
      expect(Object.keys(manifest)).not.toContain("status");
      const own = new Set([
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "generation",
        "managedFields",
        "generateName",
      ]);
      expect(Object.keys(manifest.metadata).filter((key) => own.has(key))).toEqual([]);
      expect([manifest.kind, manifest.metadata.name, twice(manifest)]).toEqual([
        manifest.kind,
        manifest.metadata.name,
        [],
      ]);
    }
  });
});

describe("the prune annotations of the namespace and the claims", { timeout }, () => {
  const production = configOf("stacks/Pulumi.production.yaml");

  it("retain the namespace, chain data and ledgers when their files are removed", async () => {
    expect(await ownersAnnotations(production)).toEqual({
      gatehouse: prunedByNobody,
      "node-workspace": prunedByNobody,
      "sidecar-state": prunedByNobody,
      "facilitator-ledger": prunedByNobody,
      "resource-server-ledger": prunedByNobody,
      "pushgateway-data": {},
    });
  });

  it("make Flux apply a claim once if the sidecar resizes it", async () => {
    const grows = { ...production, volumeGrowth: JSON.stringify({ stepGibibytes: 100, ceilingGibibytes: 2_000 }) };
    const { "node-workspace": workspace, gatehouse } = await ownersAnnotations(grows);
    expect(workspace).toEqual({ ...prunedByNobody, "kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent" });
    expect(gatehouse).toEqual(prunedByNobody);
  });

  it("are absent if data is not protected, or if Pulumi applies the objects", async () => {
    const { renderTo: _renderTo, ...applied } = production;
    for (const config of [{ ...production, protectData: "false" }, applied]) {
      for (const annotations of Object.values(await ownersAnnotations(config))) expect(annotations).toEqual({});
    }
  });
});

/** Keys by which the API merges lists (x-kubernetes-list-map-keys of its published schema). */
const listKeys: Readonly<Record<string, readonly string[]>> = {
  containers: ["name"],
  initContainers: ["name"],
  env: ["name"],
  volumes: ["name"],
  volumeMounts: ["mountPath"],
  imagePullSecrets: ["name"],
};

/** Lists entries with the same key as an earlier entry of such a list. */
function twice(value: unknown, name = ""): readonly string[] {
  if (Array.isArray(value)) {
    const found = value.flatMap((entry) => twice(entry));
    const portKeys = value.some((entry) => hasKey(entry, "containerPort")) ? ["containerPort", "protocol"] : undefined;
    const keys = name === "ports" ? (portKeys ?? ["port", "protocol"]) : listKeys[name];
    if (keys === undefined) return found;
    const ids = value.map((entry: Readonly<Record<string, unknown>>) =>
      keys.map((key) => String(entry[key])).join("/"),
    );
    return [...found, ...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${name}: ${id}`)];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => twice(inner, key));
}

function hasKey(entry: unknown, key: string): boolean {
  return typeof entry === "object" && entry !== null && Object.hasOwn(entry, key);
}

describe("the check for duplicate list keys", () => {
  it("reports a duplicate key", () => {
    const spec = { containers: [{ name: "a", ports: [{ containerPort: 1 }, { containerPort: 1 }] }, { name: "a" }] };
    expect(twice({ spec })).toEqual(["ports: 1/undefined", "containers: a"]);
    expect(
      twice({
        ports: [
          { port: 1, protocol: "TCP" },
          { port: 1, protocol: "UDP" },
        ],
      }),
    ).toEqual([]);
    expect(basename(stacks[0] ?? "")).toBe("Pulumi.dev.yaml");
  });
});
