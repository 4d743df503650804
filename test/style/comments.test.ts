import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listSourceFiles, root } from "./rooms.ts";

const files = globSync("**/*", {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === "dist" || name === ".git" || name === ".gatehouse",
});

const fileName =
  /(?<![\w./@:<>{}*…$-])(?:[\w@-][\w.@-]*\/)*[\w-][\w.-]*\.(?:ts|mjs|js|sh|sol|md|Dockerfile)(?![\w/*])/g;
const folderName = /`((?:[\w-]+\/)+)`/g;
/** A name of the code has a small letter before a capital, so that no word of a sentence is taken for one. */
const identifier = /`(\w*[a-z][A-Z]\w*)(?:\(\))?`/g;

/** Made by a build or by kustomize, so that no clone has them. */
const madeLater = new Set(["LICENSES.md", "dist/", "secrets/"]);

/** Names in other people's programs. */
const foreign = new Set([
  "AbortError",
  "BatchRequestLimit",
  "BatchResponseMaxSize",
  "ObservabilityPrometheus",
  "componentProviderHost",
  "defaultBodyLimit",
]);

/** Comments by their marks, which have white space before them: a mark within a text or a URL has none. */
const comment = /(?<=^|\s)(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm;

type Read = Readonly<{ path: string; comments: string; code: string }>;

/** A file's comments, and what is left without them. */
function readSource(path: string): Read {
  const text = readFileSync(join(root, path), "utf8");
  return { path, comments: (text.match(comment) ?? []).join("\n"), code: text.replaceAll(comment, " ") };
}

const sources = listSourceFiles().map(readSource);
const others = globSync("**/*.{js,mjs,json,sh,yaml,css,html}", {
  cwd: root,
  exclude: (name) => name === "node_modules" || name === "dist" || name.startsWith("."),
}).map((path) => readFileSync(join(root, path), "utf8"));
const words = new Set([...sources.map(({ code }) => code), ...others].flatMap((text) => text.match(/\w+/g) ?? []));

function isThere(name: string): boolean {
  const path = name.replace(/\/$/, "");
  return madeLater.has(name) || files.some((file) => file === path || file.endsWith(`/${path}`));
}

function findGoneFiles(comments: string): readonly string[] {
  const named = [...comments.matchAll(fileName)].map(([name]) => name);
  const folders = [...comments.matchAll(folderName)].map(([, name = ""]) => name);
  return [...named, ...folders].filter((name) => !isThere(name));
}

function findGoneNames(comments: string): readonly string[] {
  const named = [...comments.matchAll(identifier)].map(([, name = ""]) => name);
  return named.filter((name) => !words.has(name) && !foreign.has(name));
}

describe("comments", () => {
  it("name files and folders that are there", () => {
    const gone = sources.flatMap(({ path, comments }) => findGoneFiles(comments).map((name) => `${path}: ${name}`));
    expect(gone).toEqual([]);
  });

  it("name functions, types and settings that are there", () => {
    const gone = sources.flatMap(({ path, comments }) => findGoneNames(comments).map((name) => `${path}: ${name}`));
    expect(gone).toEqual([]);
  });

  it("would be found with a name that is gone", () => {
    expect(findGoneFiles("/** See `no/such-file.ts`, `no-such-folder/` and `calls/batch.ts`. */")).toEqual([
      "no/such-file.ts",
      "no-such-folder/",
    ]);
    const made = ["noSuch", "Function"].join("");
    expect(findGoneNames(`// \`${made}()\` and \`readSource\``)).toEqual([made]);
  });
});
