import { spawnSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import JSON5 from "json5";
import { parse, parseAllDocuments } from "yaml";
import { beforeAll, describe, expect, it } from "vitest";
import { makeSharedDirectory } from "#daemon/testing/test-directory.ts";
import { findSchemaViolations, type Typed } from "#infra/testing/kubernetes-schema.ts";
import {
  kustomizedStacks,
  renderObjects,
  placeholderSecrets,
  type KubernetesObject,
} from "#infra/testing/rendered-objects.ts";
import { root } from "../style/rooms.ts";

const hasKubectl = spawnSync("kubectl", ["kustomize", "--help"]).status === 0;
const skipped = hasKubectl ? "" : " (skipped: no kubectl with kustomize on PATH)";
const timeout = 120_000;

type Kustomized = Typed & KubernetesObject;

const directory = makeSharedDirectory();
let tree: ReadonlyMap<string, string>;

beforeAll(async () => {
  await cp(join(root, "infra/kustomize"), directory, { recursive: true });
  tree = await readTree(directory);
}, timeout);

/** Every file in a directory except the README, keyed by its path relative to that directory. */
async function readTree(at: string): Promise<ReadonlyMap<string, string>> {
  const paths = await readdir(at, { recursive: true });
  const files: [string, string][] = [];
  for (const path of paths.filter((name) => name !== "README.md")) {
    if ((await stat(join(at, path))).isFile()) files.push([path, await readFile(join(at, path), "utf8")]);
  }
  return new Map(files);
}

/** The secret files that a kustomization references, as paths in its directory. */
function secretFilesOf(kustomization: string): readonly string[] {
  const { secretGenerator = [] } = parse(kustomization) as {
    secretGenerator?: readonly { files: readonly string[] }[];
  };
  return secretGenerator.flatMap(({ files }) => files).filter((file) => file.startsWith("secrets/"));
}

/** Lists the directories that reference secret files outside the tree. */
function foldersWithSecrets(): readonly string[] {
  return [...tree].flatMap(([path, text]) => {
    const folder = dirname(path);
    const isMissing = (file: string) => !tree.has(`${folder}/${file}`);
    return path.endsWith("/kustomization.yaml") && secretFilesOf(text).some(isMissing) ? [folder] : [];
  });
}

/**
 * Writes content to each file that a kustomization of the directory references: a rendered stack's secrets, if there
 * are any.
 */
async function fillIn(at: string, rendered: readonly KubernetesObject[] = []): Promise<void> {
  for (const path of secretFilesOf(await readFile(join(at, "kustomization.yaml"), "utf8"))) {
    const [, name, key = ""] = path.split("/");
    const secret = rendered.find(({ kind, metadata }) => kind === "Secret" && metadata.name === name);
    const values = (secret?.["stringData"] ?? {}) as Readonly<Record<string, string>>;
    await mkdir(dirname(join(at, path)), { recursive: true });
    await writeFile(join(at, path), values[key] ?? `somebody's ${path}`);
  }
}

function kustomize(at: string): string {
  const { status, stdout, stderr } = spawnSync("kubectl", ["kustomize", at], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/**
 * Text that Go's YAML writes unquoted, because it is too long for a Go number; this parser would read it as a number.
 */
const longHex = /(?<=: )0x[0-9a-fA-F]{17,}$/gm;

const objectsOf = (text: string) =>
  parseAllDocuments(text.replaceAll(longHex, '"$&"')).map((document) => document.toJS() as Kustomized);

const secretNames = (text: string): readonly string[] => text.match(/secretName: \S+/g) ?? [];

describe("the kustomize tree", { timeout }, () => {
  it("contains no secret", () => {
    const text = [...tree].map(([path, content]) => `${path}\n${content}`).join("\n");
    for (const secret of [...Object.values(placeholderSecrets), "stand-in-password"])
      expect(text).not.toContain(secret);
    expect([...tree.keys()].filter((path) => path.includes("secrets/") && !path.startsWith("devnet/"))).toEqual(
      foldersWithSecrets().map((folder) => `${folder}/secrets/.gitignore`),
    );
    expect([...tree].filter(([path, content]) => !path.startsWith("devnet/") && /PRIVATE KEY/.test(content))).toEqual(
      [],
    );
  });

  it("keeps secrets out of a Git repository by its .gitignore", async () => {
    const repository = join(directory, "repository");
    await cp(join(root, "infra/kustomize"), repository, { recursive: true });
    const git = (...args: readonly string[]) =>
      spawnSync("git", ["-C", repository, ...args], { encoding: "utf8", env: { PATH: process.env["PATH"] } });
    expect(git("init", "--quiet").status).toBe(0);
    expect(foldersWithSecrets()).toEqual(expect.arrayContaining(["base", "overlays/replicated"]));
    for (const folder of foldersWithSecrets()) await fillIn(join(repository, folder));
    expect(git("add", "--all").status).toBe(0);
    const added = git("ls-files")
      .stdout.split("\n")
      .filter((path) => path !== "" && path !== "README.md");
    expect(added.toSorted()).toEqual([...tree.keys()].toSorted());
  });

  it.each(["overlays/ingress", "overlays/gateway-api"])(
    "%s trusts the nearest proxy from any private network",
    (folder) => {
      const text = [...tree]
        .filter(([path]) => path.startsWith(`${folder}/`))
        .map(([, content]) => content.replaceAll(/\s/g, ""));
      const believed = '["10.0.0.0/8","172.16.0.0/12","192.168.0.0/16","100.64.0.0/10","fc00::/7"]';
      expect(text.join("\n").split(believed).length - 1).toBe(2);
      expect(text.join("\n")).not.toContain("10.244.");
    },
  );

  it("has a README that names every folder, required file and cluster assumption", async () => {
    const readme = await readFile(join(root, "infra/kustomize/README.md"), "utf8");
    expect(new Set([...tree.keys()].map((path) => /^(?:overlays\/)?[^/]+/.exec(path)?.[0] ?? ""))).toEqual(
      new Set(Object.keys(kustomizedStacks)),
    );
    for (const folder of Object.keys(kustomizedStacks)) expect(readme).toContain(`\`${folder}\``);
    const needed = [...(tree.get("base/kustomization.yaml") ?? "").matchAll(/- secrets\/(\S+)/g)];
    expect(needed.length).toBeGreaterThan(3);
    for (const [, path = ""] of needed) expect(readme).toContain(`\`${path}\``);
    const overlays = [...tree].filter(([path]) => /^overlays\/(?:ingress|gateway-api)\//.test(path));
    const assumedOverlays = overlays.flatMap(([, text]) => [
      ...text.matchAll(/(?:kubernetes\.io\/metadata\.name|secretName|sectionName): (\S+)/g),
    ]);
    const names = new Set(assumedOverlays.map(([, name = ""]) => name));
    expect([...names].toSorted()).toEqual(["gateways", "https", "ingress-nginx", "public-tls"]);
    for (const name of names) expect(readme).toContain(`\`${name}\``);
  });
});

describe.skipIf(!hasKubectl)(`kustomize over the tree${skipped}`, { timeout }, () => {
  it("fails on a missing secret, and names it", async () => {
    const untouchedPath = join(directory, "untouched");
    await cp(join(root, "infra/kustomize"), untouchedPath, { recursive: true });
    expect(() => kustomize(join(untouchedPath, "base"))).toThrow("secrets/facilitator-files/signer-privatekey");
  });

  it.each(Object.keys(kustomizedStacks))(
    "%s matches Kubernetes' schemas and the objects of `renderTo`",
    async (folder) => {
      const renderedObjects = await renderObjects(kustomizedStacks[folder] ?? {});
      if (folder !== "devnet") {
        for (const filled of new Set(["base", folder])) await fillIn(join(directory, filled), renderedObjects);
      }
      const objects = objectsOf(kustomize(join(directory, folder)));
      expect(objects.length).toBeGreaterThan(25);
      // A Secret's values are kustomize's own output, base64 with line breaks: the API accepts them, the schema does
      // not.
      expect(await findSchemaViolations(objects.filter(({ kind }) => kind !== "Secret"))).toEqual([]);
      expect(byName(objects)).toEqual(byName(renderedObjects));
    },
  );

  it("hashes the names of Secrets, except those of hot-reloaded files", async () => {
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

/**
 * Objects by kind and name in a comparable form: Secrets without kustomize's hash in their names, with their values in plain text.
 */
function byName(objects: readonly KubernetesObject[]): Readonly<Record<string, unknown>> {
  const plain = objects.map((object) => normalize(object) as KubernetesObject);
  return Object.fromEntries(plain.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

const hashed = /^([a-z-]+-files)-[a-z0-9]{10}$/;

/** A value with its containers' variables sorted by name: a patch changes their order, which has no effect. */
function normalize(value: unknown): unknown {
  if (Array.isArray(value)) {
    const entries = value.map(normalize);
    const isVariables = value.some((entry) => /^[A-Z_]+$/.test((entry as { name?: string } | null)?.name ?? ""));
    return isVariables ? entries.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : entries;
  }
  if (typeof value === "string") return value.replace(hashed, "$1");
  if (typeof value !== "object" || value === null) return value;
  const { data, stringData, ...others } = value as Readonly<Record<string, unknown>>;
  const texts = { ...decode(data), ...(stringData as Readonly<Record<string, string>> | undefined) };
  const inner = Object.fromEntries(Object.entries(others).map(([key, each]) => [key, normalize(each)]));
  if (Object.keys(texts).length === 0) return inner;
  return { ...inner, texts: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, readText(text)])) };
}

function decode(data: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries((data ?? {}) as Readonly<Record<string, string>>);
  return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

/** Parses a settings file's values, so that its layout does not matter; returns other texts unchanged. */
function readText(text: string): unknown {
  return /^\s*\{/.test(text) ? JSON5.parse(text) : text;
}
