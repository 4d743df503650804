import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { version } from "#daemon/version.ts";
import { buildArtefact, renderVariant, standInDatabase, standInSecrets, variants } from "#infra/kustomize/artefact.ts";
import { buildBase } from "#infra/kustomize/base.ts";
import type { Tree } from "#infra/kustomize/tree.ts";
import { checkBySchema, type Typed } from "#infra/testing/kubernetes-schema.ts";
import { root } from "../style/rooms.ts";

const hasKubectl = spawnSync("kubectl", ["kustomize", "--help"]).status === 0;
const skipped = hasKubectl ? "" : " (skipped: no kubectl with kustomize on PATH)";
const images = {
  gatehouse: `registry.example/gatehouse:${version}`,
  devnet: `registry.example/gatehouse-devnet:${version}`,
};
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

/** The files of secrets that a kustomization looks for, as paths in its folder. */
function secretFilesOf(kustomization: string): readonly string[] {
  const { secretGenerator = [] } = parse(kustomization) as {
    secretGenerator?: readonly { files: readonly string[] }[];
  };
  return secretGenerator.flatMap(({ files }) => files).filter((file) => file.startsWith("secrets/"));
}

/** The folders that look for files of secrets which are not in the tree. */
function foldersWithSecrets(): readonly string[] {
  return [...tree].flatMap(([path, text]) => {
    const folder = dirname(path);
    const isMissing = (file: string) => !tree.has(`${folder}/${file}`);
    return path.endsWith("/kustomization.yaml") && secretFilesOf(text).some(isMissing) ? [folder] : [];
  });
}

/** Every file below a folder, by its path in it. */
async function readTree(at: string): Promise<Readonly<Record<string, string>>> {
  const paths = await readdir(at, { recursive: true });
  const files: [string, string][] = [];
  for (const path of paths) {
    if ((await stat(join(at, path))).isFile()) files.push([path, await readFile(join(at, path), "utf8")]);
  }
  return Object.fromEntries(files);
}

/** Puts something into each file that a kustomization of the folder looks for and that is not there. */
async function fillIn(at: string): Promise<void> {
  for (const path of secretFilesOf(await readFile(join(at, "kustomization.yaml"), "utf8"))) {
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
    expect([...tree.keys()].filter((path) => path.includes("secrets/") && !path.startsWith("devnet/"))).toEqual(
      foldersWithSecrets().map((folder) => `${folder}/secrets/.gitignore`),
    );
    expect([...tree].filter(([path, content]) => !path.startsWith("devnet/") && /PRIVATE KEY/.test(content))).toEqual(
      [],
    );
  });

  it("keeps every secret that is put into it out of a repository", async () => {
    const repository = join(directory, "repository");
    await writeTree(tree, repository);
    const git = (...args: readonly string[]) =>
      spawnSync("git", ["-C", repository, ...args], { encoding: "utf8", env: { PATH: process.env["PATH"] } });
    expect(git("init", "--quiet").status).toBe(0);
    expect(foldersWithSecrets()).toEqual(expect.arrayContaining(["base", "overlays/replicated"]));
    for (const folder of foldersWithSecrets()) await fillIn(join(repository, folder));
    expect(git("add", "--all").status).toBe(0);
    const added = git("ls-files")
      .stdout.split("\n")
      .filter((path) => path !== "");
    expect(added.toSorted()).toEqual([...tree.keys()].toSorted());
  });

  it.each(["overlays/ingress", "overlays/gateway-api"])(
    "%s: believes the nearest proxy from any private network, since it knows no cluster's",
    (folder) => {
      const text = [...tree]
        .filter(([path]) => path.startsWith(`${folder}/`))
        .map(([, content]) => content.replaceAll(/\s/g, ""));
      const believed = '["10.0.0.0/8","172.16.0.0/12","192.168.0.0/16","100.64.0.0/10","fc00::/7"]';
      expect(text.join("\n").split(believed).length - 1).toBe(2);
      expect(text.join("\n")).not.toContain("10.244.");
    },
  );

  it("is what the guide's command writes, with the README, and says nothing", async () => {
    const guide = await readFile(join(root, "docs/guides/kubernetes-without-pulumi.md"), "utf8");
    const [, program = "", ...args] = /npx node (\S+\.ts) (\S+) (\S+)$/m.exec(guide) ?? [];
    const ended = spawnSync(process.execPath, [join(root, program), ...args], { cwd: directory, encoding: "utf8" });
    expect(ended).toMatchObject({ status: 0, stdout: "", stderr: "" });
    const written = join(directory, args[0] ?? "");
    const { "README.md": readme, ...files } = await readTree(written);
    expect(files).toEqual(Object.fromEntries(tree));
    expect(readme).toBe(await readFile(join(root, "infra/kustomize/README.md"), "utf8"));
  });

  it("names every file that it looks for, every folder, and what of a cluster it assumes", async () => {
    const readme = await readFile(join(root, "infra/kustomize/README.md"), "utf8");
    for (const folder of new Set([...tree.keys()].map((path) => /^(?:overlays\/)?[^/]+/.exec(path)?.[0] ?? ""))) {
      expect(readme).toContain(`\`${folder}\``);
    }
    const needed = [...(tree.get("base/kustomization.yaml") ?? "").matchAll(/- secrets\/(\S+)/g)];
    expect(needed.length).toBeGreaterThan(3);
    for (const [, path = ""] of needed) expect(readme).toContain(`\`${path}\``);
    const overlays = [...tree].filter(([path]) => /^overlays\/(?:ingress|gateway-api)\//.test(path));
    const assumed = overlays.flatMap(([, text]) => [
      ...text.matchAll(/(?:kubernetes\.io\/metadata\.name|secretName|sectionName): (\S+)/g),
    ]);
    const names = new Set(assumed.map(([, name = ""]) => name));
    expect([...names].toSorted()).toEqual(["gateways", "https", "ingress-nginx", "public-tls"]);
    for (const name of names) expect(readme).toContain(`\`${name}\``);
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
