import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildArtefact, renderVariant, standInDatabase, standInSecrets, variants } from "#infra/kustomize/artefact.ts";
import { buildBase } from "#infra/kustomize/base.ts";
import type { Tree } from "#infra/kustomize/tree.ts";
import { checkBySchema, type Typed } from "#infra/testing/kubernetes-schema.ts";
import { root } from "../style/rooms.ts";

const hasKubectl = spawnSync("kubectl", ["kustomize", "--help"]).status === 0;
const skipped = hasKubectl ? "" : " (skipped: no kubectl with kustomize on PATH)";
const images = { gatehouse: "registry.example/gatehouse:1.2.3", devnet: "registry.example/gatehouse-devnet:1.2.3" };
const timeout = 120_000;

type Kustomized = Typed & Readonly<{ metadata: Readonly<{ name: string }>; spec?: unknown; stringData?: unknown }>;

let directory: string;
let tree: Tree;

async function writeTree(files: Tree, at: string): Promise<void> {
  for (const [path, text] of files) {
    await mkdir(dirname(join(at, path)), { recursive: true });
    await writeFile(join(at, path), text);
  }
}

/** Puts something into each file that a kustomization of the folder looks for and that is not there. */
async function fillIn(at: string): Promise<void> {
  const { secretGenerator = [] } = parse(await readFile(join(at, "kustomization.yaml"), "utf8")) as {
    secretGenerator?: readonly { files: readonly string[] }[];
  };
  for (const path of secretGenerator.flatMap(({ files }) => files).filter((file) => file.startsWith("secrets/"))) {
    await mkdir(dirname(join(at, path)), { recursive: true });
    await writeFile(join(at, path), `somebody's ${path}`);
  }
}

function kustomize(at: string): string {
  const { status, stdout, stderr } = spawnSync("kubectl", ["kustomize", at], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** Text that Go's YAML writes plainly, because it is too long for a number of Go's; the parser here would make one of it. */
const longHex = /(?<=: )0x[0-9a-fA-F]{17,}$/gm;

const objectsOf = (text: string) =>
  parseAllDocuments(text.replaceAll(longHex, '"$&"')).map((document) => document.toJS() as Kustomized);

const sortedObjects = (text: string) =>
  objectsOf(text)
    .map((object) => stringify(object, { sortMapEntries: true }))
    .toSorted();

const secretNames = (text: string): readonly string[] => text.match(/secretName: \S+/g) ?? [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gatehouse-kustomize-"));
  tree = await buildArtefact(images);
  await writeTree(tree, directory);
}, timeout);
afterAll(() => rm(directory, { recursive: true, force: true }));

describe("what Kubernetes takes without Pulumi", { timeout }, () => {
  it("is the same bytes for the same release", async () => {
    expect(await buildArtefact(images)).toEqual(tree);
  });

  it("has no secret in it", () => {
    const text = [...tree].map(([path, content]) => `${path}\n${content}`).join("\n");
    for (const secret of [...Object.values(standInSecrets), standInDatabase, "stand-in-password"]) {
      expect(text).not.toContain(secret);
    }
    expect([...tree.keys()].filter((path) => path.includes("secrets/") && !path.startsWith("devnet/"))).toEqual([
      "base/secrets/.gitignore",
    ]);
    expect([...tree].filter(([path, content]) => !path.startsWith("devnet/") && /PRIVATE KEY/.test(content))).toEqual(
      [],
    );
  });

  it("names every file that it looks for, and every folder", async () => {
    const readme = await readFile(join(root, "infra/kustomize/README.md"), "utf8");
    for (const folder of new Set([...tree.keys()].map((path) => /^(?:overlays\/)?[^/]+/.exec(path)?.[0] ?? ""))) {
      expect(readme).toContain(`\`${folder}\``);
    }
    const needed = [...(tree.get("base/kustomization.yaml") ?? "").matchAll(/- secrets\/(\S+)/g)];
    expect(needed.length).toBeGreaterThan(3);
    for (const [, path = ""] of needed) expect(readme).toContain(`\`${path}\``);
  });
});

describe.skipIf(!hasKubectl)(`what kustomize makes of it${skipped}`, { timeout }, () => {
  const folders = ["base", "devnet", "overlays/yours", ...Object.keys(variants).map((name) => `overlays/${name}`)];

  it("stops at a secret that is not there, and names it", async () => {
    await writeTree(tree, join(directory, "untouched"));
    expect(() => kustomize(join(directory, "untouched/base"))).toThrow("secrets/facilitator-files/signer-privatekey");
  });

  it.each(folders)("%s: objects that Kubernetes' schemas have nothing against", async (folder) => {
    await fillIn(join(directory, "base"));
    if (folder !== "devnet") await fillIn(join(directory, folder));
    const objects = objectsOf(kustomize(join(directory, folder)));
    expect(objects.length).toBeGreaterThan(25);
    // A Secret's values are kustomize's own work, which breaks base64 into lines; the API takes them, the schema does not.
    for (const object of objects.filter(({ kind }) => kind !== "Secret")) {
      expect([object.kind, object.metadata.name, await checkBySchema(object)]).toEqual([
        object.kind,
        object.metadata.name,
        [],
      ]);
    }
  });

  it.each(Object.keys(variants))("overlays/%s: what the program renders for it, object by object", async (name) => {
    const whole = join(directory, "whole", name);
    await writeTree(buildBase(await renderVariant(images, variants[name])), whole);
    for (const at of ["base", `overlays/${name}`, join("whole", name)]) await fillIn(join(directory, at));
    const made = kustomize(join(directory, "overlays", name));
    expect(sortedObjects(made)).toEqual(sortedObjects(kustomize(whole)));
  });

  it("overlays/yours: the base, as long as nothing is changed in it", async () => {
    await fillIn(join(directory, "base"));
    const sorted = (folder: string) => objectsOf(kustomize(join(directory, folder))).map(withSortedVariables);
    expect(sorted("overlays/yours")).toEqual(sorted("base"));
  });

  it("names Secrets by their content where pods shall follow it, and not where services read them as they change", async () => {
    await fillIn(join(directory, "base"));
    const before = kustomize(join(directory, "base"));
    const signer = join(directory, "base/secrets/facilitator-files/signer-privatekey");
    await writeFile(signer, "another key");
    const after = kustomize(join(directory, "base"));
    const changed = secretNames(after).find((name) => !secretNames(before).includes(name));
    expect(changed).toMatch(/^secretName: facilitator-files-\w+$/);
    expect(after).toContain("secretName: sidecar-live\n");
    expect(after).toContain("secretName: resource-server-live\n");
  });
});

/** An object with its containers' variables in the order of their names: a patch changes that order, and nothing depends on it. */
function withSortedVariables(value: unknown): unknown {
  if (Array.isArray(value)) {
    const entries = value.map(withSortedVariables);
    const isVariables = value.some((entry) => /^[A-Z_]+$/.test((entry as { name?: string } | null)?.name ?? ""));
    return isVariables ? entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : entries;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withSortedVariables(inner)]));
}
