import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { allConstants, allKeys } from "../support/all-settings.ts";
import { root } from "./rooms.ts";

const skipped = (name: string) =>
  name === "node_modules" || name === "dist" || (name.startsWith(".") && name !== ".ci");
const files = globSync("**/*.*", { cwd: root, exclude: skipped });
/** Pages that are checked. The changelog is excluded: an entry keeps the text of its past version. */
const pages = files
  .filter((path) => path.endsWith(".md") && path !== "CHANGELOG.md")
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

const sourceFile = /(?<![\w./@:<>{}*…-])(?:[\w@-][\w.@-]*\/)*[\w-][\w.-]*\.(?:ts|mjs|sol|Dockerfile)(?![\w/*])/g;

/** A file named on a page exists: relative to the root, to the page, or as the end of a path, e.g. `calls/batch.ts`. */
function entryExists(name: string, page: string): boolean {
  return [name, posix.join(dirname(page), name)].some((path) => existsSync(join(root, path))) || isEndOfPath(name);
}

function isEndOfPath(name: string): boolean {
  return files.some((file) => file.endsWith(`/${name}`));
}

const settings = [...allKeys];
const sections = new Set(settings.map((key) => key.split(".")[0]));

/** A setting, a section, or a key within a setting that is an object; the gateway's pages state that they omit `gateway.`. */
const constants: ReadonlySet<string> = new Set(allConstants.map(({ path }) => path.join(".")));

function isSetting(name: string): boolean {
  const keys = settings.flatMap((key) => [key, key.replace(/^gateway\./, "")]);
  return keys.some((key) => key === name || key.startsWith(`${name}.`) || name.startsWith(`${key}.`));
}

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Readonly<{ scripts: object }>;
const commandLine = globSync("cli/{program,commands/*-command*}.ts", { cwd: root })
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");
const commands = new Set(
  [...commandLine.matchAll(/(?:name: |ommandName: |new Command\()"([a-z-]+)"/g)].map(([, name = ""]) => name),
);

/** The anchor of a heading on a forge: lower case, hyphens for spaces, no punctuation. */
function anchorOf(heading: string): string {
  const text = heading.replaceAll(/`|\*|\]\([^)]*\)|\[/g, "");
  return text
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

function anchorsOf(path: string): ReadonlySet<string> {
  const headings = readFileSync(join(root, path), "utf8").matchAll(/^#+ (.+)$/gm);
  return new Set([...headings].map(([, heading = ""]) => anchorOf(heading)));
}

function isBroken(link: string, page: string): boolean {
  const [target = "", anchor] = link.split("#");
  const path = target === "" ? page : posix.join(dirname(page), decodeURIComponent(target));
  if (!existsSync(join(root, path))) return true;
  return anchor !== undefined && !anchorsOf(path).has(anchor);
}

describe.each(pages)("$path", ({ path, text }) => {
  // Only the list of limits names constants.
  const isKnown = (name: string) => isSetting(name) || (path === "test/bounds/README.md" && constants.has(name));

  it("names only existing source files", () => {
    const named = [...text.matchAll(sourceFile)].map(([name]) => name);
    expect(named.filter((name) => !entryExists(name, path))).toEqual([]);
  });

  it("names only existing settings", () => {
    const dottedNames = [...text.matchAll(/`([a-z][a-zA-Z]+(?:\.[a-zA-Z0-9]+)+)`/g)].map(([, name = ""]) => name);
    const named = dottedNames.filter(
      (name) => sections.has(name.split(".")[0]) && !/\.(?:ts|mjs|conf|json|yaml)$/.test(name),
    );
    expect(named.filter((name) => !isKnown(name))).toEqual([]);
  });

  it("names only existing scripts and commands", () => {
    const named = [...text.matchAll(/npm run ([\w:-]*\w)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const typed = [...text.matchAll(/(?:`gatehouse|`npx gatehouse-evm|^npx gatehouse-evm) ([a-z][a-z-]*)/gm)].map(
      ([, name = ""]) => name,
    );
    expect(typed.filter((name) => !commands.has(name))).toEqual([]);
    // Outside the repository, `npx` with the short name runs a different package, which has that name in the registry.
    expect(text).not.toMatch(/\bnpx gatehouse(?!-evm)\b/);
  });

  it("links only to existing pages, files and headings", () => {
    const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = ""]) => link);
    expect(links.filter((link) => isBroken(link, path))).toEqual([]);
  });
});
