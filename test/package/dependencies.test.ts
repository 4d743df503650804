import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { isBundled } from "../../package/build/bundled-packages.ts";
import { root } from "../style/rooms.ts";

type LockedPackage = Readonly<{
  dependencies?: Readonly<Record<string, string>>;
  license?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  optional?: boolean;
  peer?: boolean;
  integrity?: string;
}>;

type Explained = Readonly<{ name: string; why: string; licence: string }>;

const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Readonly<{
  packages: Readonly<Record<string, LockedPackage>>;
}>;

/** Packages that `npm ci --omit=dev --omit=optional --omit=peer` installs; the entry without a path is the project itself. */
const installed = Object.entries(lock.packages)
  .filter(([path, { dev, devOptional, optional, peer }]) => path !== "" && !(dev ?? devOptional ?? optional ?? peer))
  .map(([path, { license = "", hasInstallScript = false }]) => ({
    name: path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length),
    licence: license,
    script: hasInstallScript ? "yes" : "no",
  }));

/** Names of the packages that the requested ones depend on, from npm's package-lock.json. */
function closure(asked: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (name: string, from: string): void => {
    const path = lockedPath(name, from);
    if (seen.has(path)) return;
    seen.add(path);
    for (const needed of Object.keys(lock.packages[path]?.dependencies ?? {})) visit(needed, path);
  };
  for (const name of asked) visit(name, "");
  return new Set([...seen].map((path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)));
}

function lockedPath(name: string, from: string): string {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = `${at}${at === "" ? "" : "/"}node_modules/${name}`;
    if (lock.packages[path] !== undefined) return path;
    if (at === "") throw new Error(`package-lock.json has no ${name}, which ${from} needs`);
  }
}

const page = readFileSync(join(root, "docs/dependencies.md"), "utf8");
const requestedPage = page.slice(page.indexOf("## Requested"));
const explained: readonly Explained[] = [...requestedPage.matchAll(/^- `([^`]+)` \(([^,]+), [^)]+\): (.+)$/gm)].map(
  ([, name = "", licence = "", why = ""]) => ({ name, why, licence }),
);

describe("docs/dependencies.md", () => {
  it("explains every direct dependency once, and counts all packages of a production install", () => {
    const names = [...new Set(installed.map(({ name }) => name))];
    expect(explained.map(({ name }) => name).toSorted()).toEqual(Object.keys(packageJson.dependencies).toSorted());
    expect(explained.filter(({ why }) => why.length < 3)).toEqual([]);
    expect(page).toContain(`**In a clone and in the images: ${names.length} packages, `);
  });

  it("lists the bundled packages", () => {
    const asked = Object.keys(packageJson.dependencies);
    const installedBeside = closure(asked.filter((name) => !isBundled(name)));
    const bundled = [...closure(asked)].filter((name) => !installedBeside.has(name)).toSorted();
    const [, stated = ""] = /^- \*\*Bundled\*\*: (.*?)\. /ms.exec(page) ?? [];
    expect([...stated.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(bundled);
    expect(page).toContain(`**In the npm package: ${installedBeside.size} packages, `);
  });

  it("lists every licence, and the packages with install scripts", () => {
    const [, licences = ""] = /^- \*\*Licences\*\*: (.*?)\. /m.exec(page) ?? [];
    expect([...new Set(installed.map(({ licence }) => licence))].toSorted()).toEqual(licences.split(", "));
    const scriptedNames = installed.filter(({ script }) => script === "yes").map(({ name }) => name);
    const [, statedScripts = ""] = /^- \*\*One install script\*\*: (.*?) builds/m.exec(page) ?? [];
    expect(scriptedNames.map((name) => `\`${name}\``).join(", ")).toBe(statedScripts);
    const stated = new Map(explained.map(({ name, licence }) => [name, licence]));
    expect(installed.filter(({ name, licence }) => (stated.get(name) ?? licence) !== licence)).toEqual([]);
  });
});

describe("allowScripts of package.json", () => {
  it("names exactly the packages with install scripts", () => {
    const scripted = Object.entries(lock.packages)
      .filter(([, { hasInstallScript = false }]) => hasInstallScript)
      .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
    expect(Object.keys(packageJson.allowScripts).toSorted()).toEqual([...new Set(scripted)].toSorted());
  });
});

it("package-lock.json has a hash for every package of every platform", () => {
  const unheld = Object.entries(lock.packages).filter(
    ([path, { integrity }]) => path !== "" && integrity === undefined,
  );
  expect(unheld.map(([path]) => path)).toEqual([]);
});
